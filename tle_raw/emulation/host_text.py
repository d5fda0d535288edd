"""From the device's LLVM IR to the host's: everything that only a GPU knows is replaced.

The fragment was compiled for a GPU, by the same compiler and with the same headers as for a launch there: CUB,
cooperative groups and cuda_fp16.h are NVIDIA's own. What is left of the GPU in the LLVM IR is a known set: NVVM
intrinsics, inline PTX, address spaces, static shared variables, and four functions of CUDA's device runtime.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tle_raw.emulation.address_spaces import flatten_address_spaces
from tle_raw.emulation.bfloat import without_bfloat_arithmetic
from tle_raw.emulation.debug_checks import check_accesses
from tle_raw.emulation.definition_checks import check_definition, check_divisions
from tle_raw.emulation.lockstep import meet_at_volatile_accesses
from tle_raw.emulation.numbers import llvm_suffix
from tle_raw.emulation.nvvm.define import PREFIX, define, is_sited
from tle_raw.emulation.own_memory import OwnMemory, finds_memory, global_variables
from tle_raw.emulation.ptx import UnknownInstruction, translate
from tle_raw.emulation.shared_variables import place_shared_variables
from tle_raw.emulation.stack_checks import check_stacks
from tle_raw.emulation.waiting import let_others_run
from tle_raw.errors import Context, SourceLocation, UnsupportedFeatureError
from tle_raw.linker.llvm.calls import CallInstruction, calls
from tle_raw.linker.llvm.functions import read_global
from tle_raw.linker.llvm.normalise import normalise, removal
from tle_raw.linker.llvm.references import global_names, reachable, references, without_notes
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.llvm.sites import Sites
from tle_raw.linker.llvm.symbols import is_settable, private_name, refuse_unlinkable
from tle_raw.linker.llvm.text import Edit, Entity, Module, decode_name, encode_name, read_module
from tle_raw.linker.ptx.unmasked import find_unmasked

# Functions of CUDA's device runtime, and how the thread block's runtime takes them.
_RUNTIME = {
    "vprintf": "tle_team_print",
    "__assertfail": "tle_team_assert_failed",
    "llvm.trap": "tle_team_trap",
    "llvm.debugtrap": "tle_team_trap",
    "tle_team_check_index": "tle_team_check_index",
}
_FETCH = re.compile(r"(tex|tld4|txq)\.|(?:suld|sust|sured|suq)\.")  # of textures, or of surfaces
_SITED_RUNTIME = ("llvm.trap", "llvm.debugtrap", "tle_team_check_index")


@dataclass(frozen=True)
class HostText:
    """The fragment's functions for the host; the runtime's functions are declared only."""

    text: str
    shared: tuple[SharedVariable, ...]
    shared_bytes: int
    locations: tuple[SourceLocation, ...]
    uses_barrier: bool
    memory: OwnMemory


@dataclass
class _Additions:
    """Definitions that the rewritten calls need."""

    sites: Sites
    location: SourceLocation
    hint: str
    definitions: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, ...], str] = field(default_factory=dict)


def to_host(
    text: str,
    entry: str,
    location: SourceLocation,
    is_users: Callable[[str], bool],
    debug: bool,
    hint: str = "",
    divisions: bool = True,
) -> HostText:
    """Rewrite a module that was made for a GPU.

    Parameters
    ----------
    location : the fragment's own place, for what has no line. ``is_users`` says whether a file is the user's.
    hint : what to do about an instruction that cannot be emulated.
    divisions : debug checks them, too.

    Raises
    ------
    UnsupportedFeatureError : an instruction that cannot be emulated; the error names it and its line.
    """
    module = read_module(text)
    refuse_unlinkable(module)
    module = _settable_variables(_without_unused(module, entry), entry)
    additions = _Additions(Sites(module, location, is_users), location, hint)
    if debug:
        module = check_accesses(module, additions.sites)
        module = check_divisions(module, additions.sites) if divisions else module
    edits = [edit for entity in module.of_kind("define") for edit in _call_edits(module, entity, additions)]
    module = saturate_conversions(module.edited([*edits, *_dropped_declarations(module)]))
    volatile = {name for key, name in additions.names.items() if ".volatile" in key[0]}
    module = meet_at_volatile_accesses(module, entry, volatile, additions.sites)
    module = check_stacks(let_others_run(without_bfloat_arithmetic(module), additions.sites))
    definitions = additions.definitions.values()
    checked = (check_definition(each, divisions) if debug else each for each in definitions)
    module = module.with_text("\n".join(["", *checked, ""]))
    module = with_declarations(module)
    variables = global_variables(module) if debug else ()
    placed = place_shared_variables(module, entry, spaced=debug)
    module = with_declarations(_for_host(flatten_address_spaces(placed.module)))
    uses_barrier = "@tle_team_barrier" in module.text
    memory = OwnMemory((*placed.variables_at, *variables), finds_memory(module))
    return HostText(module.text, placed.variables, placed.bytes, tuple(additions.sites.locations), uses_barrier, memory)


def _without_unused(module: Module, entry: str) -> Module:
    """Only what the entry reaches: kernels and helpers of the same file may hold anything."""
    used = reachable(references(module), [entry])
    dropped = [e for e in module.of_kind("define", "declare") if e.name not in used]
    for entity in module.of_kind("global"):
        if entity.name not in used and (entity.name.startswith("llvm.") or read_global(module, entity).is_definition):
            dropped.append(entity)
    comdats = [removal(module, e) for e in module.of_kind("comdat")]
    notes = without_notes(module, {e.name for e in dropped})
    edits = [*(removal(module, e) for e in dropped), *comdats, *notes, *_without_comdats(module, dropped)]
    return module.edited(edits)


def _settable_variables(module: Module, entry: str) -> Module:
    """Variables that the host may set get names that no other module has, and memory that can be written."""
    own = {e.name: private_name(e.name, entry) for e in module.of_kind("global") if is_settable(module, e)}
    if not own:
        return module
    named = global_names(module.text, 0, len(module.text))
    edits = [Edit(start, end, encode_name("@", own[name])) for name, start, end in named if name in own]
    for entity in module.of_kind("global"):
        if entity.name in own:
            constant = next((t for t in read_global(module, entity).tokens if t.text == "constant"), None)
            edits += [Edit(constant.start, constant.end, "global")] if constant else []
    return module.edited(edits)


def _without_comdats(module: Module, dropped: list[Entity]) -> Iterator[Edit]:
    gone = {entity.start for entity in dropped}
    for entity in module.of_kind("define", "global"):
        if entity.start in gone:
            continue
        match = re.compile(r",? comdat(?:\(\$[^)]*\))?(?=[ ,\n{])").search(module.text, entity.start, entity.body)
        if match:
            yield Edit(match.start(), match.end(), "")


def _call_edits(module: Module, entity: Entity, additions: _Additions) -> Iterator[Edit]:
    names = [encode_name("@", name) + "(" for name in _RUNTIME]
    for call in calls(module, entity, "@" + PREFIX, *(name[:-1] for name in names)):
        replacement = _replacement(call, additions)
        if replacement is not None:
            yield Edit(call.start, call.end, replacement)


def _replacement(call: CallInstruction, additions: _Additions) -> str | None:
    site = f"i32 {additions.sites.number(call.location)}"
    if not call.callee:
        return call.text("@" + _asm_function(call, additions), site)
    name = decode_name(call.callee)
    if name.startswith(PREFIX):
        sited = is_sited(name.removeprefix(PREFIX))
        return call.text("@" + _intrinsic_function(name, call, additions), site if sited else "")
    if name in _RUNTIME:
        return call.text("@" + _RUNTIME[name], site if name in _SITED_RUNTIME else "")
    return None


def _asm_function(call: CallInstruction, additions: _Additions) -> str:
    types, result = tuple(map(str, call.types)), str(call.result)
    key = (call.assembly, call.constraints, result, *types)
    if key not in additions.names:
        if not call.assembly.strip():  # a barrier for the compiler only
            text = "{ }"
        else:
            text = call.assembly
        name = f"tle.ptx.{len(additions.names)}"
        try:
            additions.definitions[name] = translate(name, text, call.constraints, types, result)
        except UnknownInstruction as error:
            about = f" ({error.about})" if error.about else ""
            raise _unsupported(f"the PTX instruction `{error}`{about}", str(error), call, additions) from None
        additions.names[key] = name
    return additions.names[key]


def _intrinsic_function(name: str, call: CallInstruction, additions: _Additions) -> str:
    plain, types, result = name.removeprefix(PREFIX), tuple(map(str, call.types)), str(call.result)
    key = (name, result, *types)
    if key not in additions.names:
        body = define(plain, types, result)
        if body is None:
            raise _unsupported(f"the GPU instruction `{plain.replace('.', '_')}`", plain, call, additions)
        own = f"tle.nvvm.{plain}.{len(additions.names)}"
        parameters = [f"{kind} %a{i}" for i, kind in enumerate(types)]
        parameters += ["i32 %site"] if is_sited(plain) else []
        head = f"define internal {result} @{own}({', '.join(parameters)}) alwaysinline {{"
        additions.definitions[own] = "\n".join([head, *body.lines, "}"])
        additions.names[key] = own
    return additions.names[key]


def _unsupported(what: str, instruction: str, call: CallInstruction, additions: _Additions) -> UnsupportedFeatureError:
    location = additions.sites.source_location(call.location) or additions.location
    message, hint = f"{what} cannot be emulated on the CPU", additions.hint
    found, fetch = find_unmasked(instruction), _FETCH.match(instruction)
    if fetch:
        kind = "textures" if fetch[1] else "surfaces"
        message = f"{what} needs {kind}, which only a GPU has: the CPU target has none"
    if found:
        message = f"`{found.name}` has no mask, and GPUs have had no such operation since compute capability 7.0"
        hint = f"write `{found.masked}(0xffffffff, {found.arguments})` where all lanes of the warp take part"
    return UnsupportedFeatureError(message, hint=hint, context=Context(source=location))


def _dropped_declarations(module: Module) -> Iterator[Edit]:
    for entity in module.of_kind("declare"):
        if entity.name.startswith(PREFIX) or entity.name in _RUNTIME:
            yield removal(module, entity)


_TO_INTEGER = re.compile(r"= fpto([su])i (?:nneg )?((?:<\d+ x )?\w+>?) (\S+) to ((?:<\d+ x )?i\d+>?)")


def saturate_conversions(module: Module) -> Module:
    """What a number too large for an integer becomes, LLVM leaves open; a GPU takes the largest, and 0 for NaN."""

    def call(match: re.Match[str]) -> str:
        sign, source, value, result = match.groups()
        name = f"llvm.fpto{sign}i.sat.{llvm_suffix(result)}.{llvm_suffix(source)}"
        return f"= call {result} @{name}({source} {value})"

    return module.edited(Edit(m.start(), m.end(), call(m)) for m in _TO_INTEGER.finditer(module.text))


_CALL = re.compile(
    r"\bcall ((?:[\w ]|<\d+ x \w+>|\{[^}]*\})+?(?: addrspace\(\d+\))?) @([\w.]+)\(([^\n]*?)\)(?=$|,|\s)", re.MULTILINE
)


def with_declarations(module: Module) -> Module:
    """Declare the runtime's functions and LLVM's intrinsics that the added code calls."""
    known = {entity.name for entity in module.of_kind("define", "declare")}
    added: dict[str, str] = {}
    for match in _CALL.finditer(module.text):
        name = match[2]
        if name in known or name in added or not name.startswith(("tle_team_", "llvm.")):
            continue
        types = ", ".join(map(_type_of, _split(match[3])))
        added[name] = f"declare {match[1].strip()} @{name}({types})"
    if not added:
        return module
    end = len(module.text.rstrip("\n"))
    return module.edited([Edit(end, len(module.text), "\n".join(["", *added.values(), ""]))])


_EXPRESSION = re.compile(r"(?P<type>.*?) (?:addrspacecast|getelementptr|bitcast|inttoptr|ptrtoint) (?:\w+ )*\(")


def _type_of(argument: str) -> str:
    """Of an argument of a call, which may be a constant expression."""
    found = _EXPRESSION.match(argument.strip())
    return found["type"] if found else argument.strip().rpartition(" ")[0]


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _for_host(module: Module) -> Module:
    """No target: the linker of the kernel gives it the machine's. No attribute that only a GPU has."""
    module = normalise(module)
    return module.edited(removal(module, entity) for entity in module.of_kind("target"))
