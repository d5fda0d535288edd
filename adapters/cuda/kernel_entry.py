"""A ``__global__`` function in LLVM IR becomes a function that a region calls.

The kernel is compiled as CUDA has it, and only then does it lose its calling convention: whatever a kernel may hold
compiles, and its ``return`` ends the region.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tle_raw.adapters.cpp.block_indices import GRID_FUNCTION
from tle_raw.adapters.cuda.read_signature import Slot
from tle_raw.adapters.cuda.refusals import refuse_instructions
from tle_raw.errors import Context, SourceLocation, SymbolError, UnsupportedFeatureError
from tle_raw.fragments.bound import POINTER, TILE, BoundParameter, BoundSignature
from tle_raw.linker.llvm.functions import KERNEL_CONVENTIONS, read_function, read_global
from tle_raw.linker.llvm.hoist_addresses import HoistedAddresses, hoist_addresses
from tle_raw.linker.llvm.no_vectors import UNPACKED
from tle_raw.linker.llvm.normalise import removal
from tle_raw.linker.llvm.read_only_loads import mark_read_only_loads
from tle_raw.linker.llvm.references import global_names, reachable, references, without_notes
from tle_raw.linker.llvm.shared_memory import SHARED_SPACE, shared_bytes, static_shared
from tle_raw.linker.llvm.sizes import sizes_of
from tle_raw.linker.llvm.text import Edit, Entity, Module, apply_edits, encode_name, read_module
from tle_raw.linker.machine_code.demangle import demangle
from tle_raw.linker.machine_code.shared_memory_limits import WITHOUT_ASKING

# The variable below the user's code that holds the kernel's address: it tells its symbol.
SYMBOL = "tle_raw_kernel"
_GRID_CALL = re.compile(rf"(?:tail |notail )?call [^@\n]*@{GRID_FUNCTION}(\w+)\(\)(?: #\d+)?")
# Of the function that a kernel becomes. On a GPU clang has packed, like nvcc, what can be packed; Triton's optimiser
# would pack sums of all sizes, and lose the order in which a register-tiled product needs its operands.
_THREAD = "@llvm.nvvm.read.ptx.sreg.tid.x"
INLINED = "alwaysinline convergent nounwind"


@dataclass(frozen=True)
class KernelUse:
    """One region of a kernel.

    ``grid`` maps an axis such as "blockIdx.x" to the launch's own axis or to a parameter of the signature. ``shared``
    is what the caller gives ``extern __shared__`` in bytes. ``is_users`` says of a file whether it is the user's.
    ``threads`` are those of the block, where more are launched; else 0. ``whole`` says that nothing else runs in the
    launched kernel.
    """

    name: str
    bound: BoundSignature
    slots: tuple[Slot, ...]
    grid: Mapping[str, int | str]
    shared: int
    location: SourceLocation
    is_users: Callable[[str], bool]
    threads: int = 0
    whole: bool = False

    @property
    def given(self) -> tuple[BoundParameter, ...]:
        """The parameters that give block indices, and are none of the kernel's own."""
        names = {value for value in self.grid.values() if isinstance(value, str)}
        return tuple(p for p in self.bound.crossing if p.name in names)

    @property
    def passed(self) -> tuple[BoundParameter, ...]:
        given = self.given
        return tuple(p for p in self.bound.crossing if p not in given)


def add_entry(text: str, entry: str, use: KernelUse) -> tuple[str, int]:
    """The module with ``entry``, which Triton calls; and the bytes of dynamic shared memory that it takes.

    Static variables that are more than a block may have of them become a part of its dynamic memory.

    Raises
    ------
    SymbolError : the kernel is declared only. UnsupportedFeatureError : what a region cannot give it.
    """
    text, kernel, shared = _as_function(text, use, f"{INLINED} {UNPACKED}", is_emulated=False)
    text += _declared(text, f"i32 {_THREAD}()", "void @llvm.nvvm.exit()") if use.threads else ""
    return f"{text}\n{_gpu_entry(text, entry, kernel, use, bool(shared))}", shared


def add_thread_entry(text: str, entry: str, use: KernelUse) -> str:
    """The same for an emulated GPU: the entry is one thread's share, and dynamic shared memory is a variable."""
    text = _sized_arrays(text, use)
    text, kernel, _ = _as_function(text, use, INLINED, is_emulated=True)
    own = f"{entry}_kernel"  # Triton's kernel may well have the name of the one that it calls
    text = _renamed(text, kernel, own)
    text += _declared(text, f"i32 {_THREAD}()", "void @tle_team_idle()") if use.threads else ""
    return f"{text}\n{_thread_entry(text, entry, own, use)}"


def _renamed(text: str, old: str, new: str) -> str:
    places = global_names(text, 0, len(text))
    return apply_edits(text, [Edit(start, end, encode_name("@", new)) for name, start, end in places if name == old])


def _as_function(text: str, use: KernelUse, attributes: str, is_emulated: bool) -> tuple[str, str, int]:
    """The kernel without its convention, with more parameters: the block indices that are given, shared memory."""
    module = read_module(text)
    kernel, holder = _kernel_symbol(module, use)
    reached = reachable(references(module), [kernel])
    refuse_instructions(module, reached, use.name, use.location, use.is_users)
    placed = _Placed({}) if is_emulated else _placed(module, kernel, reached, use)
    arrays = placed.offsets
    edits = [removal(module, holder)]
    for entity in module.of_kind("global"):
        if entity.name in arrays:
            edits.append(removal(module, entity))
        elif entity.name in ("llvm.used", "llvm.compiler.used"):
            edits.append(removal(module, entity))  # they name the variable that is gone
    for entity in module.of_kind("declare"):
        if entity.name.startswith(GRID_FUNCTION):
            edits.append(removal(module, entity))
    dropped = {e.name for e in module.of_kind("define") if e.name not in reached}
    edits += without_notes(module, dropped)
    for entity in module.of_kind("define"):
        if entity.name in dropped:
            edits.append(removal(module, entity))  # other kernels of the file may hold anything
        elif entity.name == kernel:
            edits += _kernel_edits(module, entity, use, arrays, attributes)
            edits += mark_read_only_loads(module, entity) if use.whole and not is_emulated else ()
        else:
            _refuse_in_helper(module, entity, use, arrays)
    return apply_edits(text, edits), kernel, placed.bytes


@dataclass(frozen=True)
class _Placed:
    """Variables that are given a part of the dynamic memory, by their offsets in bytes, and how much there is."""

    offsets: Mapping[str, int]
    bytes: int = 0


def _placed(module: Module, kernel: str, reached: Collection[str], use: KernelUse) -> _Placed:
    """``extern __shared__`` arrays all start where the dynamic memory does.

    Static variables come behind, where they are more than a launch may have: those of the kernel's own code, the
    largest first, until the rest can stay.
    """
    arrays = _dynamic_arrays(module, reached)
    if arrays and not use.shared:
        raise _no_size(arrays[0], use)
    offsets = dict.fromkeys(arrays, 0)
    end = use.shared if arrays else 0
    static = static_shared(module, kernel, skipped=arrays)
    left, apart = shared_bytes(static), _used_apart(module, reached, kernel)
    for variable in sorted(static, key=lambda variable: -variable.bytes):
        if left > WITHOUT_ASKING and variable.name not in apart:
            offsets[variable.name] = -(-end // variable.align) * variable.align
            end = offsets[variable.name] + variable.bytes
            left -= variable.bytes + variable.align - 1
    return _Placed(offsets, end)


def _used_apart(module: Module, reached: Collection[str], kernel: str) -> frozenset[str]:
    """What functions that are not inlined name."""
    return frozenset(
        name
        for entity in module.of_kind("define")
        if entity.name in reached and entity.name != kernel
        for name, _, _ in global_names(module.text, entity.body, entity.end)
    )


def _kernel_symbol(module: Module, use: KernelUse) -> tuple[str, Entity]:
    holder = next(e for e in module.of_kind("global") if e.name == SYMBOL)
    names = [t.name for t in module.header(holder)[1:] if t.kind == "@"]
    if not names or not any(e.name == names[0] for e in module.of_kind("define")):
        raise SymbolError(
            f"the kernel `{use.name}` is declared and not defined",
            hint="include the file that defines it",
            context=Context(source=use.location),
        )
    return names[0], holder


def _dynamic_arrays(module: Module, reached: Collection[str]) -> tuple[str, ...]:
    """The ``extern __shared__`` arrays that the kernel reaches."""
    return tuple(e.name for e in module.of_kind("global") if e.name in reached and _is_dynamic(module, e))


def _is_dynamic(module: Module, entity: Entity) -> bool:
    variable = read_global(module, entity)
    if variable.address_space != SHARED_SPACE:
        return False
    return not variable.is_definition or sizes_of(module).size(variable.type) == 0


def _no_size(array: str, use: KernelUse) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"the kernel `{use.name}` has dynamic shared memory (extern __shared__ {demangle(array)}), and nobody says "
        f"how much",
        hint="state the bytes that its launch would give: shared=4096",
        context=Context(source=use.location),
    )


def _kernel_edits(
    module: Module, entity: Entity, use: KernelUse, arrays: Mapping[str, int], attributes: str
) -> Iterator[Edit]:
    function = read_function(module, entity)
    for token in function.before:
        if token.text in KERNEL_CONVENTIONS:
            yield Edit(token.start, token.end + 1, "")
    for token in function.after:
        if token.kind == "#":  # the compiler's own: kernels are noinline, and carry the bounds of their launch
            yield Edit(token.start, token.end, attributes)
    more = [f"i32 %tle.given.{p.name}" for p in use.given] + (["i32 %tle.shared"] if arrays else [])
    if more:
        close = _end_of_parameters(module, entity)
        yield Edit(close, close, (", " if function.type.parameters else "") + ", ".join(more))
    for match in _GRID_CALL.finditer(module.text, entity.body, entity.end):
        yield Edit(match.start(), match.end(), f"add i32 {_grid_value(match[1], use)}, 0")
    yield from hoist_addresses(module, entity, arrays, _start(module.text, entity), _Given(module.text, arrays))


class _Given(HoistedAddresses):
    """Addresses in the dynamic shared memory that the call gives."""

    def __init__(self, text: str, offsets: Mapping[str, int]) -> None:
        super().__init__(text)
        self._offsets = offsets

    def address(self, name: str) -> str:
        begin = self.value("inttoptr i32 %tle.shared to ptr addrspace(3)")
        offset = self._offsets[name]
        return self.value(f"getelementptr i8, ptr addrspace(3) {begin}, i32 {offset}") if offset else begin


def _start(text: str, entity: Entity) -> int:
    """The place after the ``{`` of a definition, and after the label of its first block."""
    first = text.find("\n", entity.body) + 1
    end = text.find("\n", first)
    return end if text[first:end].split(";")[0].strip().endswith(":") else entity.body + 1


def _end_of_parameters(module: Module, entity: Entity) -> int:
    tokens = module.header(entity)
    index = next(i for i, token in enumerate(tokens) if token.kind == "@") + 1
    depth = 0
    while True:
        depth += (tokens[index].text in "([{") - (tokens[index].text in ")]}")
        if depth == 0:
            return tokens[index].start
        index += 1


def _grid_value(axis: str, use: KernelUse) -> str:
    variable = axis.replace("_", ".")
    value = use.grid.get(variable)
    if not isinstance(value, str):
        own = variable.replace("gridDim", "blockIdx")
        raise UnsupportedFeatureError(
            f"the kernel `{use.name}` reads {variable}, and {own} comes from the call",
            hint=f'say where it comes from as well: grid={{"{own}": {use.grid[own]!r}, "{variable}": "blocks"}}',
            context=Context(source=use.location),
        )
    return f"%tle.given.{value}"


def _refuse_in_helper(module: Module, entity: Entity, use: KernelUse, arrays: Collection[str]) -> None:
    """What a call gives is known to the kernel's own code only; a function that is kept apart would need it too."""
    found = {name for name, _, _ in global_names(module.text, entity.body, entity.end)}
    if not any(n in arrays or n.startswith(GRID_FUNCTION) for n in found):
        return
    what = "extern __shared__ memory" if found & set(arrays) else "a block index that the call gives"
    raise UnsupportedFeatureError(
        f"`{demangle(entity.name)}`, which is not inlined, uses {what}",
        hint="take __noinline__ away, or pass it as an argument",
        context=Context(source=use.location),
    )


def _gpu_entry(text: str, entry: str, kernel: str, use: KernelUse, takes_shared: bool) -> str:
    crossing = use.bound.crossing
    numbers = {p.name: f"%{i}" for i, p in enumerate(crossing)}
    parameters = [f"{p.llvm} %{i}" for i, p in enumerate(crossing)] or ["i32 %0"]
    parameters += ["i32 %shared"] if takes_shared else []
    lines, values = [], {}
    for parameter in use.passed:
        number = numbers[parameter.name]
        values[parameter.name] = number
        if parameter.kind == TILE:
            lines.append(f"  %s{number[1:]} = inttoptr i32 {number} to ptr addrspace(3)")
            lines.append(f"  %p{number[1:]} = addrspacecast ptr addrspace(3) %s{number[1:]} to ptr")
            values[parameter.name] = f"%p{number[1:]}"
        elif parameter.kind == POINTER:
            lines.append(f"  %p{number[1:]} = addrspacecast ptr addrspace(1) {number} to ptr")
            values[parameter.name] = f"%p{number[1:]}"
    more = [f"i32 {numbers[p.name]}" for p in use.given] + (["i32 %shared"] if takes_shared else [])
    call = _call(text, kernel, use, values, more)
    head = f"define i32 @{entry}({', '.join(parameters)}) {{"
    return "\n".join(
        [head, *_idle(use, "call void @llvm.nvvm.exit()\n  unreachable"), *lines, *call, "  ret i32 0", "}", ""]
    )


def _thread_entry(text: str, entry: str, kernel: str, use: KernelUse) -> str:
    lines, values = [], {}
    for index, parameter in enumerate(use.bound.crossing):
        assert parameter.dtype is not None
        lines.append(f"  %slot{index} = getelementptr ptr, ptr %args, i64 {index}")
        lines.append(f"  %place{index} = load ptr, ptr %slot{index}")
        value = f"%v{index}"
        if parameter.kind == TILE:
            value = f"%place{index}"
        elif parameter.kind == POINTER:
            lines.append(f"  {value} = load ptr, ptr %place{index}")
        elif parameter.dtype.llvm == "i1":
            lines += [f"  %b{index} = load i8, ptr %place{index}", f"  {value} = icmp ne i8 %b{index}, 0"]
        else:
            lines.append(f"  {value} = load {parameter.dtype.llvm}, ptr %place{index}")
        values[parameter.name] = value
    more = [f"i32 {values[p.name]}" for p in use.given]
    call = _call(text, kernel, use, values, more)
    head = f"define void @{entry}(ptr %args) {{"
    return "\n".join(
        [head, *_idle(use, "call void @tle_team_idle()\n  ret void"), *lines, *call, "  ret void", "}", ""]
    )


def _idle(use: KernelUse, end: str) -> list[str]:
    """What ends the threads beyond the block: whole warps are launched, and a last one may have fewer lanes."""
    if not use.threads:
        return []
    return [
        f"  %tle.thread = call i32 {_THREAD}()",
        f"  %tle.idle = icmp uge i32 %tle.thread, {use.threads}",
        "  br i1 %tle.idle, label %tle.end, label %tle.begin",
        "tle.end:",
        f"  {end}",
        "tle.begin:",
    ]


def _declared(text: str, *names: str) -> str:
    """Declarations of those functions that the text does not declare itself."""
    known = {entity.name for entity in read_module(text).of_kind("declare")}
    return "".join(f"declare {name}\n" for name in names if name.split("@")[1].split("(")[0] not in known)


def _call(text: str, kernel: str, use: KernelUse, values: Mapping[str, str], more: Sequence[str]) -> list[str]:
    """The call. A kernel takes a struct, and a 16-bit float is one in C++, by the address of a copy."""
    module = read_module(text)
    entity = next(e for e in module.of_kind("define") if e.name == kernel)
    function = read_function(module, entity)
    byval = _byval_types(module, entity)
    own = len(function.type.parameters) - len(more)
    lines, passed = [], []
    for index, type_ in enumerate(function.type.parameters[:own]):
        held = [(p, slot) for p, slot in zip(use.passed, use.slots) if slot.parameter == index]
        if index in byval:
            copy, is_one = f"%copy{index}", len(held) == 1
            lines.append(f"  {copy} = alloca {byval[index]}, align {8 if is_one else 64}")
            for parameter, slot in held:  # bytes that no field has are never read
                place = f"{copy}.{slot.offset}" if slot.offset else copy
                if slot.offset:
                    lines.append(f"  {place} = getelementptr i8, ptr {copy}, i64 {slot.offset}")
                lines.append(_store(parameter, values[parameter.name], place))
            passed.append(f"ptr byval({byval[index]}) %copy{index}")
        else:
            passed.append(f"{type_} {values[held[0][0].name]}")
    name = encode_name("@", kernel)
    return [*lines, f"  call void {name}({', '.join([*passed, *more])})"]


def _store(parameter: BoundParameter, value: str, place: str) -> str:
    if parameter.kind == POINTER:
        return f"  store ptr {value}, ptr {place}"
    if parameter.llvm == "i1":  # a bool in memory is a byte, 0 or 1
        return f"  {place}.byte = zext i1 {value} to i8\n  store i8 {place}.byte, ptr {place}"
    return f"  store {parameter.llvm} {value}, ptr {place}"


def _byval_types(module: Module, entity: Entity) -> dict[int, str]:
    """The parameters that come by the address of a copy, and the type of the copy."""
    tokens = module.header(entity)
    index = next(i for i, token in enumerate(tokens) if token.kind == "@") + 1
    found, number, depth = {}, 0, 0
    for i in range(index, len(tokens)):
        text = tokens[i].text
        depth += (text in "([{<") - (text in ")]}>")
        if depth == 0:
            break
        number += depth == 1 and text == ","
        if depth == 1 and text == "byval":
            end = next(k for k in range(i, len(tokens)) if tokens[k].text == ")")
            found[number] = module.text[tokens[i + 2].start : tokens[end].start]
    return found


def _sized_arrays(text: str, use: KernelUse) -> str:
    """``extern __shared__`` arrays as variables of the stated size. They are one memory, so there is one variable."""
    module = read_module(text)
    kernel, _ = _kernel_symbol(module, use)
    arrays = _dynamic_arrays(module, reachable(references(module), [kernel]))
    if not arrays:
        return text
    if not use.shared:
        raise _no_size(arrays[0], use)
    first = encode_name("@", arrays[0])
    edits = []
    for entity in module.of_kind("global"):
        if entity.name in arrays:
            edits.append(removal(module, entity))
    for entity in module.of_kind("define"):
        for name, start, end in global_names(module.text, entity.body, entity.end):
            if name in arrays[1:]:
                edits.append(Edit(start, end, first))
    sized = f"{first} = internal addrspace(3) global [{use.shared} x i8] undef, align 16"
    return f"{apply_edits(text, edits)}\n{sized}\n"
