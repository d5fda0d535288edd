"""PyCUDA's ElementwiseKernel: its operation on one element, in registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tle_raw.adapters.cpp.source_lines import at_its_line
from tle_raw.adapters.cpp.tokens import tokenize
from tle_raw.adapters.pycuda.arguments import PycudaArgument, read_arguments
from tle_raw.adapters.pycuda.declare import Recipe, caller_location, declare_text, generated_options
from tle_raw.adapters.pycuda.element_uses import INDEX, uses_of
from tle_raw.adapters.pycuda.elementwise_memory import Loop, headers
from tle_raw.errors import DialectError, Row, SignatureError, SourceLocation, UnsupportedFeatureError
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.parameter_types import INOUT, Element, Parameter, Scalar
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import location_of_text

if TYPE_CHECKING:
    from tle_raw.fragments.fragment import Fragment

_SYMBOL = "tle_raw_elementwise"


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
) -> Fragment:
    """An elementwise fragment: ``z = axpy(a, x, y)`` for ``("float a, float *x, float *y, float *z", "z[i] = …")``.

    The vector that the operation writes is the result. It is an argument too where its old elements are read or may
    stay. An operation that uses ``i`` as a number takes it as the last argument, a tensor of i32.

    Where the operation writes several vectors, or uses more of one than its element ``[i]``, or the elements are
    vectors or complex numbers, the region works on memory, as a kernel of PyCUDA's does: it takes pointers, and the
    number of elements ``n`` behind them. So does a whole kernel, ``as_kernel(block=…)``, of any operation.

    Parameters
    ----------
    arguments, operation, name, keep, options, preamble, loop_prep, after_loop : PyCUDA's own.

    Raises
    ------
    SignatureError : an argument is no number and no vector. UnsupportedFeatureError : the operation writes nothing.
    """
    location = caller_location()
    if rest:
        raise DialectError(
            f"an elementwise kernel has no argument `{next(iter(rest))}`",
            hint="preamble=, loop_prep= and after_loop= are PyCUDA's",
        ).at(fragment=name, source=location)
    given = read_arguments(arguments, location)
    vectors = [a for a in given if a.is_vector]
    uses = uses_of([a.name for a in vectors], tokenize(operation), [a.name for a in given if not a.is_vector])
    loop = Loop(name, given, operation, preamble, loop_prep, after_loop, options, location)
    needs_memory = uses.elsewhere or loop_prep or after_loop or any(a.is_compound for a in vectors)
    if vectors and (needs_memory or len(uses.written) > 1):
        return loop.region()
    if not uses.written:
        raise UnsupportedFeatureError(
            "the operation writes no vector",
            table=[Row("vectors written", "1 or more", "none")],
            hint="assign to a vector: z[i] = …",
        ).at(fragment=name, source=location_of_text(operation, location) if operation.strip() else location)
    out = next(a for a in vectors if a.name == uses.written[0])
    use, needs_index = uses.of[out.name], uses.needs_index
    is_passed = use.is_read or not use.is_whole or not (needs_index or any(a != out for a in vectors))
    signature = Signature(
        name,
        tuple(_parameters(given, out, is_passed, needs_index, location)),
        None if is_passed else Element(out.dtype),
    )
    text = "\n".join(_text(given, out, is_passed, needs_index, preamble, operation, location))
    return declare_text(name, text, _SYMBOL, signature, generated_options(options), location, Recipe(loop.whole))


def _parameters(
    given: Sequence[PycudaArgument], out: PycudaArgument, is_passed: bool, needs_index: bool, location: SourceLocation
) -> Iterator[Parameter]:
    for argument in given:
        if argument == out and not is_passed:
            continue
        kind = Element if argument.is_vector else Scalar
        yield Parameter(argument.name, kind(argument.dtype), INOUT if argument == out else "In")
    if needs_index:
        if any(argument.name == INDEX for argument in given):
            raise SignatureError(f"the operation's index has the name of an argument, `{INDEX}`").at(source=location)
        yield Parameter(INDEX, Element(DTYPES["i32"]))


def _text(
    given: Sequence[PycudaArgument],
    out: PycudaArgument,
    is_passed: bool,
    needs_index: bool,
    preamble: str,
    operation: str,
    location: SourceLocation,
) -> Iterator[str]:
    yield from headers(given, (preamble, operation))
    yield at_its_line(preamble, location)
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
    yield at_its_line(operation, location)
    yield "; } }();"
    yield "" if is_passed else f"  return tle_raw_{out.name};"
    yield "}"
