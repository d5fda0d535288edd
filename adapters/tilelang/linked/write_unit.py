"""Writes the translation unit of a region: TileLang's device function, and the entry that Triton calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tle_raw.adapters.common.launched_kernel import WARP, launched_threads
from tle_raw.adapters.cpp.block_indices import undefine_lines
from tle_raw.adapters.cpp.source_lines import LABEL
from tle_raw.adapters.cpp.spelling import crossing_type
from tle_raw.adapters.tilelang.linked.crossing import Call, Share
from tle_raw.adapters.tilelang.linked.descriptors import DESCRIPTORS
from tle_raw.adapters.tilelang.linked.device_function import DeviceFunction
from tle_raw.adapters.tilelang.linked.host_call import DATA, DESCRIPTOR, DIM, SCALAR, STRIDE, HostArgument
from tle_raw.adapters.tilelang.linked.lower import Lowered
from tle_raw.adapters.tilelang.linked.register_budgets import FEWEST
from tle_raw.errors import Row, SignatureError, SignatureMismatchError, UnsupportedFeatureError
from tle_raw.fragments.bound import POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.fragments.bound import SCALAR as SCALAR_PORT
from tle_raw.fragments.dtypes import DType, parse_dtype
from tle_raw.identity import entry_name

_WHAT = {DATA: "buffer", SCALAR: "scalar", DIM: "dim", STRIDE: "stride", DESCRIPTOR: "TMA descriptor"}
_INTEGER = DType("i32", 32, "int32", "int", "i32")


@dataclass(frozen=True)
class Unit:
    """C++ text, the function in it that Triton calls, and what it needs of the launch.

    ``shared`` is bytes of dynamic shared memory. ``registers`` is the most that a thread may have at the launch, where
    warps hand registers to each other; else 0. ``threads`` is the block that it has to be.
    """

    text: str
    entry: str
    shared: int
    registers: int = 0
    threads: int = 0


def write_unit(
    name: str,
    lowered: Lowered,
    function: DeviceFunction,
    bound: BoundSignature,
    places: Mapping[str, int | str],
    content: Iterable[str] = (),
    tiles: Mapping[str, bool] | None = None,
    threads: int = 0,
    exclusive: bool = False,
    thread_entry: bool = False,
) -> Unit:
    """The unit for one call.

    Parameters
    ----------
    places : where each block index comes from, by its tag: the axis of a program id, or a parameter of the region.
    tiles : the buffers that are tiles, and which of them start as zeros, because the kernel may not write all of it.
    threads : how many the launch has, where it is not the next power of two; the kernel's are the first of them.
    exclusive : nothing stands before the region, and nothing follows it.
    thread_entry : the entry is one thread's share, of an emulated GPU, and has its shared memory as a variable.

    Raises
    ------
    SignatureMismatchError : the kernel wants what the region's signature does not have, or another dtype.
    """
    shared = lowered.shared if function.uses_shared else 0
    threads = threads or launched_threads(lowered.threads)
    content = [*content, *(["a thread's share"] if thread_entry else [])]
    entry = entry_name(name, [function.text, bound.to_json(), repr(sorted(places.items())), repr(tiles), *content])
    crossing = Share(shared) if thread_entry else Call(shared)
    lines = [
        f'#line 1 "{LABEL}"',
        *undefine_lines(lowered.block),
        "#define TLE_RAW_FLAT_BLOCK 1",
        "#include <tle_raw/tilelang.h>",
        "#include <tle_raw/tilelang_warps.h>",
        *crossing.barrier_lines(lowered, threads),
        function.text,
        f'\n#line 1 "{LABEL}"',
        *_entry(entry, lowered, function, bound, places, crossing, tiles or {}, threads, exclusive),
    ]
    registers = function.budgets.launch if function.budgets else 0
    return Unit("\n".join(lines) + "\n", entry, 0 if thread_entry else shared, registers, threads)


def _entry(
    entry: str,
    lowered: Lowered,
    function: DeviceFunction,
    bound: BoundSignature,
    places: Mapping[str, int | str],
    crossing: Call,
    tiles: Mapping[str, bool],
    threads: int,
    exclusive: bool,
) -> Iterator[str]:
    yield from crossing.begin(entry, [_crossing(p, tiles) for p in bound.crossing])
    yield from _clear(bound, tiles, threads, crossing)
    yield from crossing.leave_idle(lowered, threads)
    for i, argument in enumerate(lowered.arguments):
        if i < lowered.parameters or function.uses_grid:
            yield f"  const {_local(argument, bound)} k{i}{{{_value(argument, bound, lowered, crossing)}}};"
    block = ", ".join(_block_index(axis, bound, places) for axis in "xyz")
    yield f"  const uint3 block = {{{block}}};"
    yield f"  const dim3 grid({_grid(lowered, function)});"
    passed = [f"k{i}" for i in range(lowered.parameters)]
    passed += ["block", "grid", crossing.memory, "registers", *_barriers(function, bound, crossing)]
    call = f"[[clang::always_inline]] {function.name}({', '.join(passed)});"
    yield from _run(call, lowered, function, threads, exclusive)
    yield crossing.end


def _run(call: str, lowered: Lowered, function: DeviceFunction, threads: int, exclusive: bool) -> Iterator[str]:
    """The call, by those threads that TileLang has, in the launch's own terms."""
    copies = any(a.kind == DESCRIPTOR for a in lowered.arguments) or function.stores_by_tma
    budgets = function.budgets
    yield f"  unsigned registers = {budgets.launch if budgets else 0};"
    if copies and not exclusive:  # it waits for all of the GPU's memory, which takes microseconds
        yield "  tle::tilelang::order_with_bulk_copies();"
    if lowered.threads == threads:
        yield f"  {call}"
    else:
        # In a block of several dims, or of no whole warps, threadIdx is the kernel's own, not the launch's.
        is_plain = lowered.block[1:] == (1, 1) and lowered.threads % WARP == 0
        own = "threadIdx.x" if is_plain else "__nvvm_read_ptx_sreg_tid_x()"
        yield f"  if ({own} < {lowered.threads}u) {{ {call} }}"
        if budgets:
            yield f"  else tle::tilelang::give_registers<{FEWEST}>(registers);"
    if exclusive:
        return
    if function.stores_by_tma:
        yield "  tle::tilelang::finish_bulk_stores();"
        yield "  tle::tilelang::order_with_bulk_copies();"
    if budgets:
        yield f"  tle::tilelang::return_registers<{budgets.launch}>(registers);"


def _barriers(function: DeviceFunction, bound: BoundSignature, crossing: Call) -> Iterator[str]:
    """The addresses of the kernel's barriers and buffers, in the order in which the function takes them."""
    positions = {parameter.name: i for i, parameter in enumerate(bound.crossing)}
    for name in function.barriers:
        yield f"(uint64_t*){crossing.tile(positions[name])}"
    for buffer in function.buffers:
        found = bound.crossing[positions[buffer.name]]
        if found.buffer != f"tle::nvmma<{buffer.swizzle}>":
            raise UnsupportedFeatureError(
                f"the buffer `{buffer.name}` lies otherwise than the kernel's products read it",
                table=[Row(buffer.name, f"tle.gpu.alloc's own layout, tle::nvmma<{buffer.swizzle}>", found.buffer)],
            )
        yield f"(unsigned char*){crossing.tile(positions[buffer.name])}"


def _clear(bound: BoundSignature, tiles: Mapping[str, bool], threads: int, crossing: Call) -> Iterator[str]:
    """Zeros for the elements of a result that the kernel does not write."""
    for i, parameter in enumerate(bound.crossing):
        if parameter.kind == TILE and tiles.get(parameter.name) and parameter.dtype is not None:
            size = parameter.size * max(8, parameter.dtype.bits) // 8
            own = "__nvvm_read_ptx_sreg_tid_x()"
            yield f"  tle::tilelang::clear<{size}, {threads}>({crossing.tile(i)}, {own});"
    if any(tiles.values()):
        yield "  tle::tilelang::wait_for_block();"


def _crossing(parameter: BoundParameter, tiles: Mapping[str, bool]) -> str | None:
    """The type of what crosses; None of a tile."""
    if parameter.kind == POINTER:
        return "void __attribute__((address_space(1)))*"
    if parameter.is_in_place or (parameter.kind == TILE and parameter.name in tiles):
        return None
    if parameter.kind == SCALAR_PORT and parameter.dtype is not None:
        return crossing_type(parameter.dtype)
    raise UnsupportedFeatureError(
        f"`{parameter.name}` is a {parameter.kind} of the region, and no buffer of tiles= has that name",
    )


def _local(argument: HostArgument, bound: BoundSignature) -> str:
    """The type of what is passed on: it converts to the type that TileLang wrote."""
    if argument.kind == DATA:
        return "tle::tilelang::memory"
    if argument.kind == DESCRIPTOR:
        return "CUtensorMap&"
    found = _port(argument, bound)
    dtype = found.dtype if isinstance(found, BoundParameter) else _of_name(argument.dtype) or _INTEGER
    assert dtype is not None
    return f"tle::tilelang::scalar<{crossing_type(dtype)}>"


def _value(argument: HostArgument, bound: BoundSignature, lowered: Lowered, crossing: Call) -> str:
    if argument.kind == DESCRIPTOR:
        number = next(i for i, d in enumerate(lowered.descriptors) if d.name == argument.name)
        return f"*(const CUtensorMap*)((const char*)p{_descriptors(bound)} + {number * crossing.descriptor})"
    found = _port(argument, bound)
    if isinstance(found, int):
        return str(found)
    crossed = f"p{bound.crossing.index(found)}"
    if found.kind == TILE:
        return crossing.tile(bound.crossing.index(found))
    return f"(void*){crossed}" if argument.kind == DATA else crossed


def _descriptors(bound: BoundSignature) -> int:
    """Where the address of the descriptors comes in."""
    for i, parameter in enumerate(bound.crossing):
        if parameter.name == DESCRIPTORS:
            return i
    raise SignatureMismatchError(
        "the TileLang kernel takes TMA descriptors, and the signature has none",
        table=[Row(DESCRIPTORS, "Pointer[u8]", "no parameter")],
    )


def _port(argument: HostArgument, bound: BoundSignature) -> BoundParameter | int:
    """The parameter of the region that an argument stands for, or the value of a name that the signature binds."""
    found = next((p for p in bound.crossing if p.name == argument.name), None)
    if found is not None:
        _check(argument, found, bound)
        return found
    constant = dict(bound.names).get(argument.name)
    if isinstance(constant, int) and argument.kind != DATA:
        return constant
    if argument.kind in (DIM, STRIDE) and argument.name.isdecimal():
        return int(argument.name)
    raise SignatureMismatchError(
        f"the TileLang kernel takes the {_WHAT[argument.kind]} `{argument.name}`, which the signature does not have",
        table=[Row(argument.name, f"{_WHAT[argument.kind]} of {argument.dtype}", "no parameter")],
        hint=f"the signature is {', '.join(map(str, bound.crossing)) or 'empty'}",
    )


def _check(argument: HostArgument, found: BoundParameter, bound: BoundSignature) -> None:
    """The kinds are the same, and the dtypes as far as both sides have a name for them."""
    kind = SCALAR_PORT if argument.kind != DATA else TILE if found.kind == TILE else POINTER
    wanted, got = _of_name(argument.dtype), found.dtype
    same = wanted is None or got is None or wanted == got
    if wanted and got and wanted.is_integer and got.is_integer and wanted.bits == got.bits:
        same = True  # signed or not, the bits are the same
    if found.kind != kind or not same:
        expected = f"{kind.capitalize()}[{wanted or argument.dtype}]"
        raise SignatureMismatchError(
            f"`{found.name}` is another type in the TileLang kernel",
            table=[Row(found.name, expected, f"{found.kind.capitalize()}[{got}]")],
        )


def _of_name(dtype: str) -> DType | None:
    """Our dtype of TileLang's, or None for what only TileLang has: a raw handle, four bits."""
    try:
        return parse_dtype({"bool": "i1", "float8_e4m3": "f8e4m3"}.get(dtype, dtype))
    except SignatureError:
        return None


def _block_index(axis: str, bound: BoundSignature, places: Mapping[str, int | str]) -> str:
    name = places.get(f"blockIdx.{axis}", "xyz".index(axis))
    if isinstance(name, int):
        return f"(unsigned)__nvvm_read_ptx_sreg_ctaid_{'xyz'[name]}()"
    for i, parameter in enumerate(bound.crossing):
        if parameter.name == name and parameter.kind == SCALAR_PORT and parameter.dtype and parameter.dtype.is_integer:
            return f"(unsigned)p{i}"
    constant = dict(bound.names).get(name)
    if isinstance(constant, int):
        return f"{constant}u"
    raise SignatureMismatchError(
        f"the block index {axis} is to come from `{name}`, which is no integer of the signature",
        table=[Row(f"block index {axis}", "Scalar[i32]", name)],
    )


def _grid(lowered: Lowered, function: DeviceFunction) -> str:
    """The PrimFunc's own grid: Triton's launch may have another."""
    if not function.uses_grid:
        return "1, 1, 1"
    if not all(lowered.grid):
        raise UnsupportedFeatureError(
            "the TileLang kernel swizzles its blocks over a grid whose size a region cannot compute",
            hint="leave T.use_swizzle out",
        )
    return ", ".join(f"(unsigned)({extent})" for extent in lowered.grid)
