"""A ``__global__`` function in LLVM IR becomes a function that a region calls.

The kernel is compiled as CUDA has it, and only then does it lose its calling convention: whatever a kernel may hold
compiles, and its ``return`` ends the region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tle_raw.adapters.cuda.kernel_function import as_function
from tle_raw.adapters.cuda.kernel_memory import sized_arrays
from tle_raw.adapters.cuda.kernel_use import KernelUse
from tle_raw.fragments.bound import POINTER, TILE, BoundParameter
from tle_raw.linker.llvm.functions import read_function
from tle_raw.linker.llvm.no_vectors import UNPACKED
from tle_raw.linker.llvm.references import global_names
from tle_raw.linker.llvm.text import Edit, Entity, Module, apply_edits, encode_name, read_module

_THREAD = "@llvm.nvvm.read.ptx.sreg.tid.x"
# Of the function that a kernel becomes. On a GPU clang has packed, like nvcc, what can be packed; Triton's optimiser
# would pack sums of all sizes, and lose the order in which a register-tiled product needs its operands.
_INLINED = "alwaysinline convergent nounwind"


def add_entry(text: str, entry: str, use: KernelUse) -> tuple[str, int]:
    """The module with ``entry``, which Triton calls; and the bytes of dynamic shared memory that it takes.

    Static variables that are more than a block may have of them become a part of its dynamic memory.

    Raises
    ------
    SymbolError : the kernel is declared only. UnsupportedFeatureError : what a region cannot give it.
    """
    text, kernel, shared = as_function(text, use, f"{_INLINED} {UNPACKED}", is_emulated=False)
    text += _declared(text, f"i32 {_THREAD}()", "void @llvm.nvvm.exit()") if use.threads else ""
    return f"{text}\n{_gpu_entry(text, entry, kernel, use, bool(shared))}", shared


def add_thread_entry(text: str, entry: str, use: KernelUse) -> str:
    """The same for an emulated GPU: the entry is one thread's share, and dynamic shared memory is a variable."""
    text = sized_arrays(text, use)
    text, kernel, _ = as_function(text, use, _INLINED, is_emulated=True)
    own = f"{entry}_kernel"  # Triton's kernel may well have the name of the one that it calls
    text = _renamed(text, kernel, own)
    text += _declared(text, f"i32 {_THREAD}()", "void @tle_team_idle()") if use.threads else ""
    return f"{text}\n{_thread_entry(text, entry, own, use)}"


def _renamed(text: str, old: str, new: str) -> str:
    places = global_names(text, 0, len(text))
    return apply_edits(text, [Edit(start, end, encode_name("@", new)) for name, start, end in places if name == old])


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
