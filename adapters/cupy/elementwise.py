"""CuPy's ElementwiseKernel: its operation on one element, in registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tle_raw.adapters.cpp.source_lines import at_its_line
from tle_raw.adapters.cpp.tokens import Token, tokenize
from tle_raw.adapters.cupy.parameters import INDEX, SIZE, CupyParameter, read_parameters, type_lines
from tle_raw.adapters.cupy.uses import asks_size, check_raw, is_written_whole, needs_index
from tle_raw.errors import Row, SignatureError, SourceLocation, UnsupportedFeatureError
from tle_raw.fragments.dtypes import DTYPES
from tle_raw.fragments.parameter_types import IN, INOUT, Element, Parameter, Pointer, Scalar
from tle_raw.fragments.signature import Signature
from tle_raw.fragments.source_text import location_of_text

SYMBOL = "tle_raw_elementwise"
INDEXER = "_ind"
# What CuPy takes beside the operation, and a region gives a meaning to.
_KNOWN = ("options",)


def elementwise(kernel: Any, types: Mapping[str, Any], location: SourceLocation) -> tuple[Signature, str, Any]:
    """The signature, the text and the compiler's options of an ElementwiseKernel.

    The output is the result; it is an argument too where its old elements are read or may stay. An operation that uses
    ``i``, or ``_ind.size()``, takes them behind the other arguments.

    Raises
    ------
    SignatureError : a type cannot cross, or a result's type follows from no argument.
    UnsupportedFeatureError : several outputs, code around the loop, or more of a raw array than its elements.
    """
    name, operation = str(kernel.name), str(kernel.operation)
    for word, value in dict(kernel.kwargs).items():
        if word not in _KNOWN and value:
            raise UnsupportedFeatureError(
                f"an elementwise fragment has no loop over an array, so `{word}` has no meaning",
                hint="put it into the operation, or into the preamble",
            ).at(fragment=name, source=location)
    given = read_parameters(kernel.in_params, kernel.out_params, types, location)
    tokens, at = tokenize(operation), location_of_text(operation, location) if operation.strip() else location
    check_raw(given, tokens, name, at)
    outputs = [a for a in given if a.is_output and not a.is_raw]
    if len(outputs) != 1:
        raise UnsupportedFeatureError(
            f"the kernel has {len(outputs)} outputs that are not raw, and an elementwise fragment gives one result",
            table=[Row("outputs", "1", ", ".join(a.name for a in outputs) or "none")],
            hint="write an ElementwiseKernel for each" if outputs else "make one output an array without `raw`",
        ).at(fragment=name, source=at)
    out, index, size = outputs[0], needs_index(tokens), asks_size(tokens, INDEXER, name, at)
    shaped = index or any(not a.is_raw and not a.is_output for a in given)
    is_passed = not shaped or not is_written_whole(out.name, tokens)
    parameters = [*_parameters(given, out, is_passed)]
    added = [Parameter(SIZE, Scalar(DTYPES["i32"]))] * size + [Parameter(INDEX, Element(DTYPES["i32"]))] * index
    for parameter in added:
        if any(p.name == parameter.name for p in parameters):
            raise SignatureError(f"an argument has the name `{parameter.name}`, which the loop's own has").at(
                fragment=name, source=location
            )
    signature = Signature(name, (*parameters, *added), None if is_passed else Element(out.dtype))
    text = "\n".join(_text(given, out, is_passed, tokens, str(kernel.preamble), operation, added, location))
    return signature, text, dict(kernel.kwargs).get("options", ())


def _parameters(given: Sequence[CupyParameter], out: CupyParameter, is_passed: bool) -> Iterator[Parameter]:
    for argument in given:
        if argument.is_raw:
            yield Parameter(argument.name, Pointer(argument.dtype), INOUT if argument.is_output else IN)
        elif argument != out:
            yield Parameter(argument.name, Element(argument.dtype))
        elif is_passed:
            yield Parameter(argument.name, Element(argument.dtype), INOUT)


def _text(
    given: Sequence[CupyParameter],
    out: CupyParameter,
    is_passed: bool,
    tokens: Sequence[Token],
    preamble: str,
    operation: str,
    added: Sequence[Parameter],
    location: SourceLocation,
) -> Iterator[str]:
    yield from header_lines([preamble, operation])
    yield from type_lines(given)
    yield at_its_line(preamble, location)
    parameters, locals_ = [], []
    for argument in given:
        crossed, (crossing, own) = f"tle_raw_{argument.name}", (argument.crossing, argument.own)
        if argument.is_raw:
            const = "" if argument.is_output else "const "
            parameters.append(f"{const}{crossing}* {crossed}")
            locals_.append(f"{const}{own}* const {argument.name} = ({const}{own}*){crossed};")
        elif argument != out:
            parameters.append(f"{crossing} {crossed}")
            locals_.append(f"const {own} {argument.name} = tle::cupy::as<{own}>({crossed});")
        elif is_passed:
            parameters.append(f"{crossing}& {crossed}")
            locals_.append(f"{own} {argument.name} = tle::cupy::as<{own}>({crossed});")
        else:
            locals_.append(f"{own} {argument.name}{{}};")
    names = {parameter.name for parameter in added}
    if SIZE in names:
        parameters.append("int tle_raw_size")
        locals_.append(f"const tle::cupy::extent {INDEXER}{{tle_raw_size}};")
    if INDEX in names:
        parameters.append("int tle_raw_index")
        locals_.append(f"const ptrdiff_t {INDEX} = tle_raw_index;")
    yield f"__device__ {'void' if is_passed else out.crossing} {SYMBOL}({', '.join(parameters)}) {{"
    yield "  " + " ".join(locals_)
    # Inside a function and a loop of their own: the operation may return and continue, and leave its semicolon out.
    yield "  [&]() { for (int tle_raw_once = 0; tle_raw_once < 1; ++tle_raw_once) {"
    yield at_its_line(operation, location)
    yield "; } }();"
    value = f"tle::cupy::as<{out.crossing}>({out.name})"
    yield f"  tle_raw_{out.name} = {value};" if is_passed else f"  return {value};"
    yield "}"


def header_lines(code: Sequence[str]) -> Iterator[str]:
    """CuPy's headers; that of complex numbers takes a second to read, so only for code that mentions them."""
    if any("complex" in text for text in code):
        yield "#include <cupy/complex.cuh>"
    yield "#include <tle_raw/cupy.h>"
