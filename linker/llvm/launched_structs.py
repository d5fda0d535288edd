"""A struct that a kernel takes by value is read where the launch has put it, with an index of run time too.

Triton launches with numbers and pointers: the fields of a struct are parameters of their own, and the kernel puts them
together again in an array of its own. An index that is known at run time keeps that array in local memory, 896 bytes
for every thread of flashinfer's all-reduce, while nvcc reads the constant bank. The parameters lie there too, one
behind the other, each at the next multiple of its size: so CUDA lays out what is launched. Where these places are the
fields' places in the struct, an access to the array is one to the parameters, from the first one's address on.

It is done for arrays that hold parameters of the kernel, each written once, and that nothing else is done with but
loads: then what a load gets is a parameter, or nothing that anybody wrote. PTX says where parameters lie, as its users
launch them, and nowhere that the address of one reaches the next; ptxas, which LLVM and nvcc give the same for a struct
of their own, takes it so (12.8 and 12.9, sm_90; tests/gpu/test_struct_arrays.py). What it pays says
samples/benchmarks/RESULTS.md; ``TLE_RAW_DISABLE_PASSES=launched-structs`` compiles without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tle_raw.linker.llvm.control_flow import NAME, names_in
from tle_raw.linker.llvm.functions import LlvmFunction, read_function
from tle_raw.linker.llvm.parameter_words import parameter_words
from tle_raw.linker.llvm.text import Edit, Module, apply_edits, read_module

_ARRAY = re.compile(rf"  ({NAME}) = alloca [^\n]*")
_LIFETIME = re.compile(r"  (?:tail )?call void @llvm\.lifetime\.(?:start|end)\.[^\n]*")
_STEP = re.compile(rf"  ({NAME}) = getelementptr (?:inbounds |nuw |nusw )*(.*?), ptr ({NAME}), ([^\n]*)")
_CHOICE = re.compile(rf"  ({NAME}) = (?:phi ptr \[|select i1 {NAME}, ptr )[^\n]*")
_CHOSEN = re.compile(rf"\[ (\S+), {NAME} \]|, ptr ({NAME}|\w+)")
_COMPARISON = re.compile(rf"  {NAME} = icmp \w+ ptr ({NAME}), ({NAME})(?:, ![^\n]*)?")
_BYTES = re.compile(r"i64 (-?\d+)(?:, ![^\n]*)?")
_STORE = re.compile(rf"  store ([^\n]+) ({NAME}), ptr ({NAME})(?:, [^\n]*)?")
_LOAD = re.compile(rf"  ({NAME}) = load ([^\n]+), ptr ({NAME})((?:, align \d+)?)((?:, ![^\n]*)?)")
_GENERIC = re.compile(rf"  ({NAME}) = addrspacecast ptr addrspace\(1\) ({NAME}) to ptr(?:, ![^\n]*)?")
_BYTE = re.compile(rf"  ({NAME}) = zext i1 ({NAME}) to i8(?:, ![^\n]*)?")  # a bool in memory
_SIZES = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}
_GLOBAL = "ptr addrspace(1)"
_PLAIN = re.compile(r"[A-Za-z]\w*")  # PTX has the kernel under its own name
_KERNEL = "ptx_kernel"
_PARAMETERS = "ptr addrspace(101)"


@dataclass(frozen=True)
class _Parameter:
    """One of the kernel's: its number, LLVM type, bytes, and where the launch puts it."""

    number: int
    type: str
    size: int
    place: int


@dataclass
class _Uses:
    """What is done with one array: lines of the body."""

    steps: list[int]  # to an address, and what compares two
    loads: list[int]
    gone: list[int]  # what writes it, and how long it lives
    written: dict[int, _Parameter]  # by the bytes in front of it in the array
    holds_other_pointers: bool = False


def launched_structs(text: str) -> str:
    """The module whose kernel reads such arrays from its parameters."""
    if " = alloca " not in text or _KERNEL not in text:
        return text
    module = read_module(text)
    edits = []
    for entity in module.of_kind("define"):
        function = read_function(module, entity)
        source = module.source(entity)
        if _KERNEL in {token.text for token in function.before} and _PLAIN.fullmatch(function.name):
            head, brace, body = source.partition("{\n")
            changed = _with_parameters(body, function, _parameters(module, function))
            if changed != body:
                edits.append(Edit(entity.start, entity.end, head + brace + changed))
    return apply_edits(text, edits)


def _parameters(module: Module, function: LlvmFunction) -> dict[str, _Parameter]:
    """The kernel's parameters by name, up to the first one that is more than a number or a pointer."""
    found, place = {}, 0
    words = parameter_words(module, function.entity)
    for number, (type_, own) in enumerate(zip(function.type.parameters, words, strict=True)):
        size = _SIZES.get("ptr" if type_ == _GLOBAL else type_)
        if size is None or "byval" in own:
            break
        place = -(-place // size) * size
        name = own[-1] if own[-1].startswith("%") else f"%{number}"
        found[name] = _Parameter(number, type_, size, place)
        place += size
    return found


def _with_parameters(body: str, function: LlvmFunction, parameters: Mapping[str, _Parameter]) -> str:
    lines, gone = body.split("\n"), set[int]()
    held = dict(parameters)  # also by the name under which an array gets one
    for line in lines:
        found = _GENERIC.fullmatch(line) or _BYTE.fullmatch(line)
        if found and found[2] in parameters:
            held[found[1]] = parameters[found[2]]
    for number, line in enumerate(lines):
        array = _ARRAY.fullmatch(line)
        uses = _uses(lines, array[1], held) if array else None
        if array and uses and _lies_alike(uses.written):
            lines[number] = _address(array[1], function.name, *min(uses.written.items()))
            for step in uses.steps:
                lines[step] = _step(lines[step])
            for load in uses.loads:
                lines[load] = _load(lines[load], is_global=not uses.holds_other_pointers)
            gone.update(uses.gone)
    return "\n".join(line for number, line in enumerate(lines) if number not in gone)


def _uses(lines: list[str], array: str, held: Mapping[str, _Parameter]) -> _Uses | None:
    """All that is done with an array; None where it is more than this module knows."""
    places = _places(lines, array)
    uses = _Uses([], [], [], {})
    for number, line in enumerate(lines):
        if places.keys().isdisjoint(names_in(line)) or _ARRAY.fullmatch(line):
            continue
        if _stays_among(line, places):
            uses.steps.append(number)
        elif (load := _LOAD.fullmatch(line)) and not load[2].startswith(("volatile", "atomic")):
            uses.loads.append(number)
        elif (store := _STORE.fullmatch(line)) and store[2] not in places and store[2] in held:
            parameter, place = held[store[2]], places[store[3]]
            if place is None or place in uses.written or _SIZES.get(store[1]) != parameter.size:
                return None
            uses.holds_other_pointers |= store[1] == "ptr" and parameter.type != _GLOBAL
            uses.written[place] = parameter
            uses.gone.append(number)
        elif _LIFETIME.fullmatch(line):
            uses.gone.append(number)
        else:
            return None
    return uses if uses.loads else None


def _stays_among(line: str, places: Mapping[str, int | None]) -> bool:
    """Whether an address is computed of one of these, or chosen among them, or two of them are compared."""
    if step := _STEP.fullmatch(line):
        return step[3] in places
    if _CHOICE.fullmatch(line):
        return all((one or other) in places for one, other in _CHOSEN.findall(line))
    both = _COMPARISON.fullmatch(line)
    return both is not None and set(both.groups()) <= places.keys()


def _places(lines: list[str], array: str) -> dict[str, int | None]:
    """The array's address and those that are computed of it, with the bytes between; None where nobody knows them."""
    steps = list(filter(None, map(_STEP.fullmatch, lines)))
    choices = list(filter(None, map(_CHOICE.fullmatch, lines)))
    found, before = dict[str, int | None]([(array, 0)]), 0
    while len(found) > before:  # blocks are in any order
        before = len(found)
        for step in steps:
            if step[3] in found:
                offset, base = _BYTES.fullmatch(step[4]) if step[2] == "i8" else None, found[step[3]]
                found[step[1]] = base + int(offset[1]) if offset and base is not None else None
        for choice in choices:
            if not found.keys().isdisjoint(one or other for one, other in _CHOSEN.findall(choice[0])):
                found[choice[1]] = None
    return found


def _lies_alike(written: Mapping[int, _Parameter]) -> bool:
    """Whether parameters lie in the array as the launch puts them: they are as far from each other, none twice."""
    shifts = {parameter.place - place for place, parameter in written.items()}
    return len(shifts) == 1 and len({parameter.number for parameter in written.values()}) == len(written)


def _address(array: str, kernel: str, place: int, first: _Parameter) -> str:
    """The array's address among the parameters: ``place`` bytes before that of its first one."""
    own = array if not place else f'%"{array[1:].strip(chr(34))}.tle.first"'
    made = f'  {own} = call {_PARAMETERS} asm "mov.b64 $0, {kernel}_param_{first.number};", "=l"()'
    return made if not place else f"{made}\n  {array} = getelementptr i8, {_PARAMETERS} {own}, i64 {-place}"


def _step(line: str) -> str:
    """An address that is computed of the parameters', or chosen among such, or compared with one."""
    if _COMPARISON.fullmatch(line):
        return line.replace(" ptr %", f" {_PARAMETERS} %", 1)
    if _CHOICE.fullmatch(line):
        return line.replace(" phi ptr ", f" phi {_PARAMETERS} ").replace(", ptr ", f", {_PARAMETERS} ")
    return line.replace(", ptr %", f", {_PARAMETERS} %", 1)


def _load(line: str, *, is_global: bool) -> str:
    """A load from the parameters. Pointers that were launched with are global."""
    found = _LOAD.fullmatch(line)
    assert found
    result, type_, pointer, alignment, notes = found.groups()
    location = "".join(re.findall(r", !dbg !\d+", notes))
    if type_ != "ptr" or not is_global:
        return f"  {result} = load {type_}, {_PARAMETERS} {pointer}{alignment}{location}"
    name = f'%"{result[1:].strip(chr(34))}.tle.global"'
    return (
        f"  {name} = load {_GLOBAL}, {_PARAMETERS} {pointer}{alignment}{location}\n"
        f"  {result} = addrspacecast {_GLOBAL} {name} to ptr{location}"
    )
