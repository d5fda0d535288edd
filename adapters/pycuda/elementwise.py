"""PyCUDA's ElementwiseKernel: its operation on one element, in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle_raw.adapters.cuda.tokens import Token, tokenize
from tle_raw.adapters.pycuda.arguments import Argument, read_arguments
from tle_raw.adapters.pycuda.declare import at_its_line, caller_place, clang_flags, declare_text, pycuda_headers
from tle_raw.dtypes import DTYPES
from tle_raw.errors import DialectError, Place, Row, SignatureError, UnsupportedFeatureError
from tle_raw.signature import INOUT, Element, Parameter, Scalar, Signature
from tle_raw.source_text import place_of_text

INDEX = "i"
_SYMBOL = "tle_raw_elementwise"
_LEAVES = frozenset(("return", "continue", "break", "goto"))
_COMPOUND = frozenset("+-*/%&|^<>")


@dataclass(frozen=True)
class Use:
    """What the operation does with a vector. ``is_whole``: every element is written before it is read."""

    is_read: bool
    is_written: bool
    is_whole: bool


def ElementwiseKernel(
    arguments: Any,
    operation: str,
    name: str = "kernel",
    keep: bool = False,
    options: Any = None,
    *,
    preamble: str = "",
    loop_prep: str = "",
    after_loop: str = "",
    **rest: Any,
) -> Any:
    """An elementwise fragment: ``z = axpy(a, x, y)`` for ``("float a, float *x, float *y, float *z", "z[i] = …")``.

    The vector that the operation writes is the result. It is an argument too where its old elements are read or may
    stay. An operation that uses ``i`` as a number takes it as the last argument, a tensor of i32.

    Parameters
    ----------
    arguments, operation, name, keep, options, preamble : PyCUDA's own.

    Raises
    ------
    SignatureError : an argument is no number and no vector. UnsupportedFeatureError : the operation uses other
    elements than ``[i]``, or writes several vectors.
    """
    place = caller_place()
    if loop_prep or after_loop or rest:
        unknown = next((n for n, v in [("loop_prep", loop_prep), ("after_loop", after_loop), *rest.items()] if v), "")
        raise DialectError(
            f"an elementwise fragment has no loop over a vector, so `{unknown}` has no meaning",
            hint="put it into the operation, or into the preamble",
        ).at(fragment=name, source=place)
    given = read_arguments(arguments, place)
    tokens = tokenize(operation)
    at = place_of_text(operation, place) if operation.strip() else place
    uses = {a.name: _use(a.name, tokens, name, at) for a in given if a.is_vector}
    written = [a for a in given if a.is_vector and uses[a.name].is_written]
    if len(written) != 1:
        raise UnsupportedFeatureError(
            f"the operation writes {len(written)} vectors, and an elementwise fragment gives one result",
            table=[Row("vectors written", "1", ", ".join(a.name for a in written) or "none")],
            hint="write an ElementwiseKernel for each" if written else "assign to a vector: z[i] = …",
        ).at(fragment=name, source=at)
    out = written[0]
    needs_index = any(_is_number(tokens, k) for k, token in enumerate(tokens) if token.text == INDEX)
    others = needs_index or any(a.is_vector and a != out for a in given)
    is_passed = uses[out.name].is_read or not uses[out.name].is_whole or not others
    signature = Signature(
        name,
        tuple(_parameters(given, out, is_passed, needs_index, place)),
        None if is_passed else Element(out.dtype),
    )
    text = "\n".join(_text(given, out, is_passed, needs_index, preamble, operation, place))
    given_options = {"flags": clang_flags(options), "include_dirs": pycuda_headers(), "no_extern_c": True}
    return declare_text(name, text, _SYMBOL, signature, given_options, place)


def _use(vector: str, tokens: Sequence[Token], name: str, at: Place) -> Use:
    is_read = is_written = is_whole = False
    stands = 0  # where the statement ends that writes every element; before that, its old value is read
    may_leave = any(token.text in _LEAVES for token in tokens)
    texts = [token.text for token in tokens]
    depth = 0
    for k, text in enumerate(texts):
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if text != vector or (k and texts[k - 1] in (".", "->", "::")):
            continue
        if texts[k + 1 : k + 4] != ["[", INDEX, "]"]:
            token = tokens[k]
            line = at.line + token.line - 1
            raise UnsupportedFeatureError(
                f"the operation uses more of `{vector}` than its element [{INDEX}]",
                table=[Row(vector, f"{vector}[{INDEX}]", "".join(texts[k : k + 6]))],
                hint="a fragment in registers has one element; take a Tile in a CUDA fragment",
            ).at(fragment=name, source=Place(at.file, line))
        after = [*texts[k + 4 : k + 8], "", "", "", ""]
        if after[0] == "=" and after[1] != "=":
            starts = depth == 0 and (k == 0 or texts[k - 1] in (";", "}"))
            if starts and not is_read and not may_leave and not is_whole:
                is_whole, stands = True, texts.index(";", k) if ";" in texts[k:] else len(texts)
            is_written = True
        else:
            is_read = is_read or not is_whole or k < stands
            is_written = is_written or _is_compound(after) or _is_stepped(texts, k) or _is_taken(texts, k)
    return Use(is_read, is_written, is_whole)


def _is_compound(after: Sequence[str]) -> bool:
    """``+=``, and ``<<=``, but neither ``<=`` nor ``==``."""
    if after[0] in "<>" and after[0]:
        return after[1] == after[0] and after[2] == "="
    return bool(after[0]) and after[0] in _COMPOUND and after[1] == "=" and after[2] != "="


def _is_stepped(texts: Sequence[str], k: int) -> bool:
    """``x[i]++`` and ``--x[i]``."""
    steps = (["+", "+"], ["-", "-"])
    return list(texts[k + 4 : k + 6]) in steps or list(texts[max(k - 2, 0) : k]) in steps


def _is_taken(texts: Sequence[str], k: int) -> bool:
    """``&x[i]``: whoever gets the address may write."""
    return k > 0 and texts[k - 1] == "&" and (k < 2 or texts[k - 2] in ("(", ",", "="))


def _is_number(tokens: Sequence[Token], k: int) -> bool:
    """Whether this ``i`` is more than the index of an element."""
    before, after = tokens[k - 1].text if k else "", tokens[k + 1].text if k + 1 < len(tokens) else ""
    return not (before == "[" and after == "]") and before not in (".", "->", "::")


def _parameters(
    given: Sequence[Argument], out: Argument, is_passed: bool, needs_index: bool, place: Place
) -> Iterator[Parameter]:
    for argument in given:
        if argument == out and not is_passed:
            continue
        kind = Element if argument.is_vector else Scalar
        yield Parameter(argument.name, kind(argument.dtype), INOUT if argument == out else "In")
    if needs_index:
        if any(argument.name == INDEX for argument in given):
            raise SignatureError(f"the operation's index has the name of an argument, `{INDEX}`").at(source=place)
        yield Parameter(INDEX, Element(DTYPES["i32"]))


def _text(
    given: Sequence[Argument],
    out: Argument,
    is_passed: bool,
    needs_index: bool,
    preamble: str,
    operation: str,
    place: Place,
) -> Iterator[str]:
    for header in sorted({a.dtype.header for a in given if a.dtype.header}):
        yield f"#include <{header}>"
    yield "#include <tle_raw/pycuda.h>"
    yield at_its_line(preamble, place)
    parameters, locals_ = [], []
    for argument in given:
        own, type_ = f"tle_raw_{argument.name}", argument.type
        if not argument.is_vector:
            parameters.append(f"{type_} {argument.name}")
            continue
        if argument != out:
            parameters.append(f"const {type_} {own}")
            locals_.append(f"const tle::pycuda::vector<const {type_}> {argument.name}{{{own}}};")
            continue
        if is_passed:
            parameters.append(f"{type_}& {own}")
        else:
            locals_.append(f"{type_} {own}{{}};")
        locals_.append(f"const tle::pycuda::vector<{type_}> {argument.name}{{{own}}};")
    parameters += ["int tle_raw_index"] if needs_index else []
    yield f"__device__ {'void' if is_passed else out.type} {_SYMBOL}({', '.join(parameters)}) {{"
    yield "  " + " ".join(locals_)
    yield f"  const tle::pycuda::index {INDEX}{{{'tle_raw_index' if needs_index else '0'}}};"
    # Inside a function and a loop of their own: the operation may return and continue, and leave its semicolon out.
    yield f"  [&]() {{ (void){INDEX}; for (int tle_raw_once = 0; tle_raw_once < 1; ++tle_raw_once) {{"
    yield at_its_line(operation, place)
    yield "; } }();"
    yield "" if is_passed else f"  return tle_raw_{out.name};"
    yield "}"
