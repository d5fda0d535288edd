"""Writes the translation unit: headers, the user's code, and an entry function that Triton can call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tle_raw.adapters.cpp.block_indices import undefine_lines
from tle_raw.adapters.cpp.declarations import CppFunction
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cpp.prototypes import probe_lines
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.spelling import crossing_type
from tle_raw.adapters.cuda.called_kernels import AS_FUNCTIONS, calls_kernels
from tle_raw.adapters.cuda.kernel_use import SYMBOL
from tle_raw.adapters.cuda.ports import CallArgument, local, ports
from tle_raw.adapters.cuda.read_signature import Slot
from tle_raw.adapters.cuda.shared_objects import HEADER, with_shared_objects
from tle_raw.adapters.cuda.struct_arguments import PARAMETER_TYPE, struct_lines, whole_arguments
from tle_raw.adapters.cuda.symbol import Callee
from tle_raw.fragments.bound import ELEMENT, POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.dtypes import DType
from tle_raw.fragments.parameter_types import READY_BARRIER
from tle_raw.identity import entry_name


@dataclass(frozen=True)
class Unit:
    """C++ text and the name of the function in it that Triton calls. ``beginning`` is the text before that function."""

    text: str
    entry: str
    beginning: str = ""


def write_unit(
    name: str,
    text: str,
    line: str,
    bound: BoundSignature,
    callee: Callee,
    options: Options,
    digest: Iterable[str] = (),
    thread_entry: bool = False,
    defines: Sequence[str] = (),
    named: str = "",
    taken: Sequence[Slot] = (),
    prologue: Sequence[str] = (),
) -> Unit:
    """The unit for one call. ``line`` is the ``#line`` of a source string; a file is included.

    With ``thread_entry`` its entry is one thread's share, unless the call is elementwise. For a ``__global__`` function
    there is no entry yet: ``kernel_entry`` adds it to what the compiler made. ``defines`` are macros of the target's.
    ``named`` is the text that gives the entry its name, where another one is compiled. ``taken`` says, for a device
    function that takes structs by value, which of its parameters holds what crosses. ``prologue`` is that of several
    calls, whose units then begin alike.
    """
    entry = entry_name(name, [named or text, bound.to_json(), *digest, *defines])
    if callee.is_kernel:
        last: Iterable[str] = _kernel_lines(bound, callee)
    elif thread_entry and not bound.is_elementwise:
        last = _thread(entry, bound, callee, taken)
    else:
        last = _entry(entry, bound, callee, taken)
    last = (*(PARAMETER_TYPE if taken else ()), *last)
    beginning = "\n".join(_user_lines(text, line, prologue or _prologue(bound), options, defines)) + "\n"
    return Unit(beginning + "\n".join([*callee.overload_lines(), *last]) + "\n", entry, beginning)


def write_probe(text: str, line: str, callee: Callee, options: Options) -> str:
    """The unit whose syntax tree tells the function's prototype."""
    probe = [*callee.overload_lines(), *probe_lines(callee.address(callee.arguments))]
    return "\n".join([*_user_lines(text, line, ["#include <tle_raw/tile.h>"], options), *probe]) + "\n"


def write_kept(text: str, line: str, callee: Callee, options: Options, kept: str) -> str:
    """The unit of which the compiler's module holds the function itself, behind the variable ``kept``."""
    last = f"__attribute__((device)) const void* {kept} = (const void*){callee.address(callee.arguments)};"
    lines = [*_user_lines(text, line, ["#include <tle_raw/tile.h>"], options), *callee.overload_lines(), last]
    return "\n".join(lines) + "\n"


def _user_lines(
    text: str, line: str, prologue: Iterable[str], options: Options, defines: Sequence[str] = ()
) -> Iterator[str]:
    yield f'#line 1 "{LABEL}"'
    yield from undefine_lines(options.block, options.grid)
    yield from (f"#define {define} 1" for define in defines)
    yield from prologue
    yield from define_lines(options)
    yield from AS_FUNCTIONS if calls_kernels(text) else ()
    yield from ['extern "C" {'] if options.extern_c else []
    compiled = with_shared_objects(text)
    yield from [HEADER] if compiled != text else []
    yield f'#include "{options.file}"' if options.file and compiled == text else f"{line}\n{compiled}"
    yield f'\n#line 1 "{LABEL}"'
    yield from ["}"] if options.extern_c else []


def name_text(value: int | DType) -> str:
    """A bound name as C++ text."""
    return value.cxx if isinstance(value, DType) else str(value)


def template_arguments(bound: BoundSignature, callee: Callee) -> tuple[str, ...]:
    """Template parameters that the signature names, by name, as far as they lead the function's own list."""
    values = dict(bound.names)
    found: list[str] = []
    for parameter in (callee.function and callee.function.template) or ():
        if parameter.name not in values or parameter.is_pack:
            break
        found.append(name_text(values[parameter.name]))
    return tuple(found)


def call_text(bound: BoundSignature, callee: Callee, taken: Sequence[Slot] = ()) -> str:
    """The call of the user's function."""
    explicit = callee.arguments or ", ".join(template_arguments(bound, callee))
    angle = f"<{explicit}>" if explicit else ""
    if taken:
        arguments: Iterable[str] = whole_arguments(bound, callee, taken)
    else:
        arguments = _arguments(ports(bound), callee.function, deduced_names(bound, callee))
    called = f"::{callee.name}{angle}" if callee.types is None else callee.address(explicit)
    return f"{called}({', '.join(arguments)})"


def deduced_names(bound: BoundSignature, callee: Callee) -> frozenset[str]:
    """Template parameters that get their values from the arguments of the call."""
    template = (callee.function and callee.function.template) or ()
    count = _count_arguments(callee.arguments) if callee.arguments else len(template_arguments(bound, callee))
    if any(parameter.is_pack for parameter in template[:count]):
        count = next(i for i, parameter in enumerate(template) if parameter.is_pack)
    return frozenset(parameter.name for parameter in template[count:]) | {"auto"}


def _count_arguments(text: str) -> int:
    depth = commas = 0
    for character in text:
        depth += (character in "<([{") - (character in ">)]}")
        commas += character == "," and depth == 0
    return commas + 1


def _arguments(
    passed: tuple[CallArgument, ...], function: CppFunction | None, deduced: frozenset[str]
) -> Iterator[str]:
    parameters = function.parameters if function else ()
    for index, port in enumerate(passed):
        parameter = parameters[index] if index < len(parameters) else None
        yield port.argument(parameter.type if parameter and parameter.words & deduced else None)


def common_prologue(calls: Sequence[BoundSignature]) -> tuple[str, ...]:
    """What stands in front of the user's code for all these calls: no macro says what a name is bound to."""
    return tuple(_headers(calls))


def macros(bound: BoundSignature) -> dict[str, str]:
    """What a call's names are bound to, for code that asks the preprocessor."""
    return {f"TLE_{name}": name_text(value) for name, value in bound.names}


def takes_small_floats(bound: BoundSignature, prologue: Sequence[str] = ()) -> bool:
    """Whether a call, or one of those whose code begins with this, has a dtype that is of a header of CUDA's."""
    headers = {dtype.header for dtype in _dtypes_of(bound) if dtype.header}
    return bool(headers) or any(line.startswith("#include <cuda_") for line in prologue)


def _dtypes_of(bound: BoundSignature) -> list[DType]:
    """All that a call gives the function, those that are template arguments among them."""
    dtypes = [p.dtype for p in bound.parameters if p.dtype] + ([bound.result] if bound.result else [])
    return dtypes + [value for _, value in bound.names if isinstance(value, DType)]


def _prologue(bound: BoundSignature) -> Iterator[str]:
    yield from _headers([bound])
    for name, value in macros(bound).items():
        yield f"#define {name} {value}"


def _headers(calls: Sequence[BoundSignature]) -> Iterator[str]:
    yield "#define TLE_RAW_FLAT_BLOCK 1"
    parameters = [p for bound in calls for p in bound.parameters]
    dtypes = [dtype for bound in calls for dtype in _dtypes_of(bound)]
    for header in sorted({dtype.header for dtype in dtypes if dtype.header}):
        yield f"#include <{header}>"
    names = {dtype.name for dtype in dtypes}
    if "f16" in names:
        yield "#define TLE_RAW_HAS_HALF 1"
    if "bf16" in names:
        yield "#define TLE_RAW_HAS_BFLOAT 1"
    yield "#include <tle_raw/arguments.h>"
    if any(p.cxx_layout for p in parameters):
        yield "#include <tle_raw/buffer_argument.h>"
    if any(p.is_barrier for p in parameters):
        yield "#include <tle_raw/barrier_argument.h>"
    if any(p.is_descriptor for p in parameters):
        yield "#include <tle_raw/descriptor_argument.h>"


def _kernel_lines(bound: BoundSignature, callee: Callee) -> Iterator[str]:
    """The kernel's address: it makes the compiler emit the kernel, templates too, and tells its symbol."""
    explicit = callee.arguments or ", ".join(template_arguments(bound, callee))
    # on its own: in the initialiser of a device variable clang knows of no kernel that has namesakes
    yield f"constexpr auto {SYMBOL}_address = {callee.address(explicit)};"
    yield f"__attribute__((device)) const void* {SYMBOL} = (const void*){SYMBOL}_address;"


def define_lines(options: Options) -> Iterator[str]:
    """The user's macros and forced includes. Names with an underscore in front configure headers: command line."""
    yield from options.declared
    for define in options.defines:
        name, equals, value = define.partition("=")
        if not name.startswith("_"):
            yield f"#define {name} {value if equals else 1}"
    for path in options.includes:
        yield f'#include "{path}"'


def _entry(entry: str, bound: BoundSignature, callee: Callee, taken: Sequence[Slot]) -> Iterator[str]:
    updated = next((i for i, p in enumerate(bound.crossing) if p.kind == ELEMENT and p.effect != "In"), None)
    result = bound.result
    if result is None and updated is not None:
        result = bound.crossing[updated].dtype
    returned = crossing_type(result) if result else "int"
    parameters = [f"{_parameter_type(p)} tle_raw_{i}" for i, p in enumerate(bound.crossing)] or ["int"]
    yield f'extern "C" __attribute__((device)) {returned} {entry}({", ".join(parameters)}) {{'
    for index, parameter in enumerate(bound.crossing):
        yield from _argument(parameter, index)
    yield from struct_lines(bound, callee, taken)
    call = call_text(bound, callee, taken)
    # Tiles and pointers would cross a call by way of memory, and Triton's inliner sees the entry only.
    inline = "  [[clang::always_inline]]"
    if bound.result is not None:
        yield f"{inline} auto tle_raw_result = {call};"
        yield _result_check(bound.result, call)
        yield f"  return __builtin_bit_cast({returned}, tle_raw_result);"
    else:
        yield f"{inline} {call};"
        yield f"  return {f'__builtin_bit_cast({returned}, tle_raw_value_{updated})' if result else '0'};"
    yield "}"


def _thread(entry: str, bound: BoundSignature, callee: Callee, taken: Sequence[Slot]) -> Iterator[str]:
    """One thread's share of a region: ``args[i]`` is the address of the i-th value, or of a tile's first."""
    yield f'extern "C" __attribute__((device)) void {entry}(void* const* tle_raw_args) {{'
    for index, parameter in enumerate(bound.crossing):
        assert parameter.dtype is not None
        cxx, name, place = parameter.dtype.cxx, local(index), f"tle_raw_args[{index}]"
        if parameter.kind == TILE:
            yield f"  {_tile_argument(parameter)} {name}({place});"
        elif parameter.kind == POINTER:
            pointer = f"{cxx} __attribute__((address_space(1)))*"
            yield f"  {_pointer_argument(parameter)} {name}{{({pointer})*({cxx}* const*){place}}};"
        else:
            yield f"  tle::detail::value_argument<{cxx}> {name}{{*(const {cxx}*){place}}};"
    yield from struct_lines(bound, callee, taken)
    call = call_text(bound, callee, taken)
    if bound.result is None:
        yield f"  {call};"
    else:
        yield f"  auto tle_raw_result = {call};"
        yield _result_check(bound.result, call)
        place = f"tle_raw_args[{len(bound.crossing)}]"
        yield (
            f"  if (__nvvm_read_ptx_sreg_tid_x() == 0) "
            f"*({bound.result.cxx}*){place} = __builtin_bit_cast({bound.result.cxx}, tle_raw_result);"
        )
    yield "}"


def _result_check(result: DType, call: str) -> str:
    return (
        f"  static_assert(tle::detail::equal<typename tle::detail::result_value<decltype({call})>::type, "
        f'{result.cxx}>, "the result has another type");'
    )


def _parameter_type(parameter: BoundParameter) -> str:
    assert parameter.dtype is not None
    if parameter.is_descriptor:
        return "unsigned long long"
    if parameter.kind == TILE:
        return "unsigned"
    if parameter.kind == POINTER:
        return f"{parameter.dtype.cxx} __attribute__((address_space(1)))*"
    return crossing_type(parameter.dtype)


def _pointer_argument(parameter: BoundParameter) -> str:
    assert parameter.dtype is not None
    kind = "sized_pointer_argument" if parameter.is_of_any_type else "pointer_argument"
    return f"tle::detail::{kind}<{parameter.dtype.cxx}>"


def _tile_argument(parameter: BoundParameter) -> str:
    assert parameter.dtype is not None
    if parameter.is_barrier:
        return f"tle::detail::barrier_argument<{int(parameter.buffer == READY_BARRIER)}>"
    if parameter.is_descriptor:
        return f"tle::detail::descriptor_argument<{', '.join([parameter.dtype.cxx, *map(str, parameter.dims)])}>"
    types = [parameter.dtype.cxx, *filter(None, [parameter.cxx_layout])]
    kind = "buffer" if parameter.cxx_layout else "tile"
    return f"tle::detail::{kind}_argument<{', '.join([*types, *map(str, parameter.dims)])}>"


def _argument(parameter: BoundParameter, index: int) -> Iterator[str]:
    """Turn what crossed into the argument that fits one C++ type."""
    assert parameter.dtype is not None
    cxx, name, crossed = parameter.dtype.cxx, local(index), f"tle_raw_{index}"
    if parameter.kind == TILE:
        yield f"  {_tile_argument(parameter)} {name}({crossed});"
    elif parameter.kind == POINTER:
        yield f"  {_pointer_argument(parameter)} {name}{{{crossed}}};"
    elif parameter.kind == ELEMENT and parameter.effect != "In":
        yield f"  {cxx} tle_raw_value_{index} = __builtin_bit_cast({cxx}, {crossed});"
        yield f"  tle::detail::element_argument<{cxx}> {name}{{tle_raw_value_{index}}};"
    else:
        yield f"  tle::detail::value_argument<{cxx}> {name}{{__builtin_bit_cast({cxx}, {crossed})}};"
