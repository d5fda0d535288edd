r"""A fragment's code for some of a block's warps: they are its whole block.

A fragment that is called in a partition of specialised warps has the partition's threads. Its thread numbers begin at
the partition's first thread, its block is as large as the partition, and its barriers wait for nobody else::

    %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()                    %t = call i32 @"tle.tid$…"()      ; less the first
    call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)    ->    call … .aligned.count(i32 2, i32 64)
    call void asm "bar.sync 1, 32;", ""()                             call void asm "bar.sync 15, 32;", ""()

Each partition gets a module of its own. Shared variables are its own, too; other variables that are written are one
for all partitions, as they are one for all blocks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tle_raw.errors import RegionError, Row
from tle_raw.linker.llvm.barrier_instructions import (
    MAY_BE_BARRIER,
    UNKNOWN,
    BarrierInstruction,
    constant,
    constant_operand,
    edit_barriers,
)
from tle_raw.linker.llvm.calls import CallInstruction, calls
from tle_raw.linker.llvm.functions import LINKAGES, read_function, read_global
from tle_raw.linker.llvm.references import named, reachable, references
from tle_raw.linker.llvm.shared_memory import SHARED_SPACE
from tle_raw.linker.llvm.symbols import is_settable, original_name, private_name
from tle_raw.linker.llvm.text import Edit, Entity, Module, encode_name

WARP, WARPGROUP = 32, 128
_SREG = "llvm.nvvm.read.ptx.sreg."
# What a thread learns of its place in the block along x; y and z are 0 of 1 on Triton's blocks.
_PLACES = {"tid.x": "tid", "ntid.x": "ntid", "warpid": "warpid", "nwarpid": "nwarpid"}
_BARRIERS = ("@llvm.nvvm.barrier", "@llvm.nvvm.bar.sync")
_NAME = re.compile(
    r"@llvm\.nvvm\.(?:(?P<old>barrier0(?:\.(?P<old_red>popc|and|or))?|barrier(?:\.n)?|bar\.sync|barrier\.sync(?:\.cnt)?)"
    r"|barrier\.cta\.(?P<what>sync|arrive|red)(?:\.(?P<red>popc|and|or))?(?P<aligned>\.aligned)?\.(?P<who>all|count))$"
)
_UNALIGNED = "@llvm.nvvm.barrier.sync"
_REGISTER = re.compile(r"%(tid\.x|ntid\.x|warpid|nwarpid)\b")
_ESCAPE = re.compile(r"\\(\\|[0-9a-fA-F]{2})")
# Words of assembly, or of an intrinsic, with what they are for and how it is done in a partition.
_REFUSED = (
    (re.compile(r"\bsetmaxnreg\b"), "it hands registers from warps to others (setmaxnreg)",
     "say worker_num_regs= of warp_specialize"),
    (re.compile(r"\bbarrier\.cluster\b"), "it waits for all threads of a cluster (barrier.cluster)",
     "call it outside of partitions"),
    (re.compile(r"\breserved_smem_offset"), "it takes the shared memory that a block has once for cooperative groups "
     "of several warps", "use groups of at most 32 threads, or __shared__ memory and __syncthreads"),
    (re.compile(r"%n?tid(?![\w.])"), "it reads the three coordinates of a thread at once (%tid)",
     "read %tid.x"),
)  # fmt: skip
_WARPGROUPS = re.compile(r"\bwgmma\b")
# What a line of LLVM IR holds where its assembly may be another one in a partition, or cannot be in any.
_NAMES_THREADS = re.compile(rf"{MAY_BE_BARRIER.pattern}|tid|warpid|setmaxnreg|reserved_smem")


@dataclass(frozen=True)
class OwnThreads:
    """The threads of a partition, and its barriers among the block's sixteen.

    Attributes
    ----------
    first : the number of its first thread in the block, a multiple of 32.
    count : how many there are.
    barrier : the number of the one at which all of them meet.
    numbers : for each other barrier that the code names, the number that it has instead.
    are_all : whether no other thread comes to the code: those behind the last one leave it at once.
    """

    first: int
    count: int
    barrier: int
    numbers: Mapping[int, int]
    are_all: bool = True


def depends_on_threads(module: Module) -> bool:
    """Whether code is another one in a partition: it asks for threads, meets at barriers, or has shared variables."""
    text = module.text
    if any(f"{_SREG}{place}" in text for place in _PLACES) or any(name in text for name in _BARRIERS):
        return True
    if any(_is_own_variable(module, entity) for entity in module.of_kind("global")):
        return True
    return any(
        _REGISTER.search(plain) or edit_barriers(plain, lambda _: "") != plain or _refusal(plain)
        for plain in map(_decoded, _assemblies(module))
    )


def check_partition(module: Module, entry: str, count: int) -> None:
    """What code for a partition of ``count`` threads cannot hold.

    Raises
    ------
    RegionError : registers handed over, barriers of clusters, barriers that are chosen at run time or wait for more
        threads than there are, ``wgmma`` in less than four warps.
    """
    reached = reachable(references(module), [entry])
    wanted = re.compile(rf"{_NAMES_THREADS.pattern}|wgmma") if count % WARPGROUP else _NAMES_THREADS
    found = [call for each in _functions(module, reached) for call in calls(module, each, *_BARRIERS, assembly=wanted)]
    words = [_decoded(call.assembly) for call in found if not call.callee]
    words += [name for name in reached if name.startswith("llvm.nvvm.")]
    for text in words:
        refused = _refusal(text)
        if refused:
            raise RegionError(f"the fragment cannot be called in a partition: {refused[0]}", hint=refused[1])
        if _WARPGROUPS.search(text) and count % WARPGROUP:
            raise RegionError(
                "the fragment multiplies by wgmma, which four warps do together",
                table=[Row("threads of the partition", f"a multiple of {WARPGROUP}", str(count))],
                hint="give the partition 4 warps",
            )
    for call in found:
        _check_barriers(call, count)


def for_partition(module: Module, entry: str, name: str, threads: OwnThreads) -> Module:
    """The module of a fragment, once it is private to its entry, for some of a block's threads.

    Parameters
    ----------
    name : what the entry is called instead; all that the module defines is renamed after it.
    """
    shared = {entity.name for entity in module.of_kind("global") if _is_for_all(module, entity)}
    inner = name if threads.are_all else private_name(f"{name}.inside", name)
    names = {n: inner if n == entry else _renamed(n, entry, name) for n in _defined(module) - shared}
    places = {_SREG + register: private_name(f"tle.{short}", name) for register, short in _PLACES.items()}
    edits = [edit for entity in module.of_kind("global") if entity.name in shared for edit in _common(module, entity)]
    anywhere = {**names, **places}
    for entity, found in zip(module.entities, named(module)):
        known = names if entity.kind == "declare" else anywhere
        edits += [Edit(start, end, encode_name("@", known[name])) for name, start, end in found if name in known]
    used = {register for register in _PLACES if f"{_SREG}{register}" in module.text}
    needed: set[str] = set()
    renamed = module.respelled(edits, names)
    # What the entry does not reach is another fragment's, of the same source: its barriers have no numbers here.
    reached = {names.get(each, each) for each in reachable(references(module), [entry])}
    barriers = [
        edit for each in _functions(renamed, reached) for edit in _barrier_edits(renamed, each, threads, needed)
    ]
    made = renamed.respelled(barriers)
    helpers = _helpers(module, used, places, needed, threads)
    if threads.are_all:
        return made.with_text(helpers)
    return _inside(made, inner).with_text(helpers + _left_at_once(made, helpers, inner, name, threads))


def _inside(module: Module, name: str) -> Module:
    """The module in which a function is nobody else's."""
    function = read_function(module, next(each for each in module.of_kind("define") if each.name == name))
    kept = [token for token in function.before if token.text in LINKAGES]
    if kept:
        return module.respelled([Edit(kept[0].start, kept[0].end, "internal")])
    return module.respelled([Edit(function.before[0].end, function.before[0].end, " internal")])


def _left_at_once(module: Module, helpers: str, inner: str, name: str, threads: OwnThreads) -> str:
    """The entry, which only the threads go through that are meant: whole warps."""
    entity = next(entity for entity in module.of_kind("define") if entity.name == inner)
    type_ = read_function(module, entity).type
    given = [f"{kind} %x{number}" for number, kind in enumerate(type_.parameters)]
    call = f"call {type_.result} {encode_name('@', inner)}({', '.join(given)})"
    is_void = type_.result == "void"
    last = "ret void" if is_void else f"ret {type_.result} zeroinitializer"
    is_declared = f"@{_SREG}tid.x()" in helpers or any(
        each.name == f"{_SREG}tid.x" for each in module.of_kind("declare")
    )
    return "\n".join(
        [
            "" if is_declared else f"declare i32 @{_SREG}tid.x()",
            f"define {type_.result} {encode_name('@', name)}({', '.join(given)}) alwaysinline {{",
            f"  %all = call i32 @{_SREG}tid.x()",
            f"  %own = sub nuw nsw i32 %all, {threads.first}",
            f"  %goes = icmp ult i32 %own, {threads.count}",
            "  br i1 %goes, label %in, label %out",
            "in:",
            *([f"  {call}", "  ret void"] if is_void else [f"  %result = {call}", f"  ret {type_.result} %result"]),
            "out:",
            f"  {last}",
            "}",
            "",
        ]
    )


# --- names ---------------------------------------------------------------------------------------------------------


def _defined(module: Module) -> set[str]:
    functions = {entity.name for entity in module.of_kind("define")}
    variables = {e.name for e in module.of_kind("global") if read_global(module, e).is_definition}
    return functions | {name for name in variables if not name.startswith("llvm.")}


def _renamed(name: str, entry: str, own: str) -> str:
    return own if name == entry else private_name(original_name(name, entry), own)


def _is_own_variable(module: Module, entity: Entity) -> bool:
    return read_global(module, entity).address_space == SHARED_SPACE


def _is_for_all(module: Module, entity: Entity) -> bool:
    """Whether it is a variable that is written, and one for all blocks."""
    variable = read_global(module, entity)
    is_written = variable.kind == "global" or is_settable(module, entity)
    plain = not entity.name.startswith("llvm.")
    return is_written and plain and variable.is_definition and variable.address_space != SHARED_SPACE


def _common(module: Module, entity: Entity) -> Iterator[Edit]:
    """A linkage by which the variables of several modules are one."""
    for token in read_global(module, entity).tokens:
        if token.text in ("internal", "private"):
            yield Edit(token.start, token.end, "linkonce_odr")


# --- barriers ------------------------------------------------------------------------------------------------------


def _functions(module: Module, among: Collection[str] | None = None) -> Iterator[Entity]:
    return (e for e in module.of_kind("define") if among is None or e.name in among)


def _check_barriers(call: CallInstruction, count: int) -> None:
    asked: list[tuple[int, str]] = []
    if call.callee:
        found = _NAME.match(call.callee)
        if found:
            asked.append((_number_of(found, call), _count_of(found, call)))
    else:

        def note(barrier: BarrierInstruction) -> str:
            threads = barrier.threads
            value = constant_operand(threads, call) if threads else UNKNOWN
            asked.append((constant_operand(barrier.number, call), str(value) if value != UNKNOWN else ""))
            return ""

        edit_barriers(_decoded(call.assembly), note)
    for number, threads in asked:
        if number == UNKNOWN:
            raise RegionError(
                "the fragment chooses its barriers at run time, and in a partition each gets a number of its own",
                hint="name barriers by constants",
            )
        if constant(threads) > 2 * count:  # each may arrive, and wait
            raise RegionError(
                f"the fragment waits at barrier {number} for more threads than its partition has",
                table=[Row("threads", f"{count}", threads)],
                hint="give the partition more warps",
            )


def _barrier_edits(module: Module, entity: Entity, threads: OwnThreads, needed: set[str]) -> Iterator[Edit]:
    for place, call in enumerate(calls(module, entity, *_BARRIERS, assembly=_NAMES_THREADS)):
        if call.callee:
            text = _own_call(call, threads, f"%tle.barrier.{place}", needed)
        else:
            text = _own_assembly(module, call, threads)
        if text is not None:
            yield Edit(call.start, call.end, text)


def _number_of(found: re.Match[str], call: CallInstruction) -> int:
    if found["old"] and found["old"].startswith("barrier0"):
        return 0
    return constant(call.arguments[0]) if call.arguments else 0


def _count_of(found: re.Match[str], call: CallInstruction) -> str:
    """The operand that says how many threads take part; "" for all."""
    if found["who"] == "count" or found["old"] in ("barrier", "barrier.sync.cnt"):
        return call.arguments[1] if len(call.arguments) > 1 else ""
    return ""


def _own_call(call: CallInstruction, threads: OwnThreads, name: str, needed: set[str]) -> str | None:
    """An intrinsic at the partition's own barrier; None for what is none of the block's."""
    found = _NAME.match(call.callee)
    if found is None:
        return None
    where = f"i32 {_own_number(_number_of(found, call), threads)}, i32 {_count_of(found, call) or threads.count}"
    aligned = "" if (found["what"] and not found["aligned"]) or call.callee.startswith(_UNALIGNED) else ".aligned"
    reduction = found["red"] or found["old_red"]
    if not reduction:
        callee = f"@llvm.nvvm.barrier.cta.{found['what'] or 'sync'}{aligned}.count"
        needed.add(f"declare void {callee}(i32, i32)")
        return f"call void {callee}({where})"
    return _reduction(call, reduction, "bar" if aligned else "barrier", where, name)


def _reduction(call: CallInstruction, what: str, head: str, where: str, name: str) -> str:
    """As assembly: older LLVMs have no such intrinsics with a count of threads."""
    number, threads = where.replace("i32 ", "").split(", ")
    body = [".reg .pred taken, all;", "setp.ne.u32 taken, $1, 0;"]
    if what == "popc":
        body.append(f"{head}.red.popc.u32 $0, {number}, {threads}, taken;")
    else:
        body += [f"{head}.red.{what}.pred all, {number}, {threads}, taken;", "selp.u32 $0, 1, 0, all;"]
    lines, predicate = [], call.arguments[-1]
    if str(call.types[-1]) == "i1":
        lines.append(f"{name}.taken = zext i1 {predicate} to i32")
        predicate = f"{name}.taken"
    is_narrow = str(call.result) == "i1" and bool(call.assigned)
    result = f"{name}.given" if is_narrow or not call.assigned else call.assigned
    assembly = _encoded("\n".join(["{", *body, "}"]))
    lines.append(f'{result} = call i32 asm sideeffect "{assembly}", "=r,r,~{{memory}}"(i32 {predicate}) convergent')
    if is_narrow:
        lines.append(f"{call.assigned} = icmp ne i32 {result}, 0")
    return "\n  ".join(lines)


def _own_number(number: int, threads: OwnThreads) -> int:
    return threads.barrier if number == 0 else threads.numbers[number]


def _own_assembly(module: Module, call: CallInstruction, threads: OwnThreads) -> str | None:
    """Assembly with the partition's barriers and threads; None where it names neither."""

    def own(barrier: BarrierInstruction) -> str:
        number = _own_number(constant_operand(barrier.number, call), threads)
        return barrier.text(number, barrier.threads or str(threads.count))

    plain = _decoded(call.assembly)
    made = edit_barriers(plain, own)
    asked = set(_REGISTER.findall(made))
    made = _REGISTER.sub(lambda found: "tle_" + found[1].partition(".")[0], made)
    if asked:
        head = [f".reg .b32 tle_{name};" for name in ("tid", "ntid", "warpid", "nwarpid")]
        head += [f"mov.b32 tle_ntid, {threads.count};", f"mov.b32 tle_nwarpid, {threads.count // WARP};"]
        head += ["mov.u32 tle_tid, %tid.x;", f"sub.u32 tle_tid, tle_tid, {threads.first};"]
        made = "\n".join(["{", *head, "shr.u32 tle_warpid, tle_tid, 5;", made, "}"])
    if made == plain:
        return None
    given = module.text[call.start : call.end]
    return given.replace(f'"{call.assembly}"', f'"{_encoded(made)}"', 1)


# --- assembly ------------------------------------------------------------------------------------------------------


def _assemblies(module: Module) -> Iterator[str]:
    for entity in _functions(module):
        yield from (call.assembly for call in calls(module, entity, assembly=_NAMES_THREADS) if not call.callee)


def _refusal(text: str) -> tuple[str, str] | None:
    return next(((what, hint) for pattern, what, hint in _REFUSED if pattern.search(text)), None)


def _decoded(assembly: str) -> str:
    return _ESCAPE.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1], 16)), assembly)


def _encoded(assembly: str) -> str:
    return "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\{ord(c):02X}" for c in assembly)


# --- places --------------------------------------------------------------------------------------------------------


def _helpers(
    module: Module, used: Collection[str], places: Mapping[str, str], needed: set[str], threads: OwnThreads
) -> str:
    declared = {entity.name for entity in module.of_kind("declare")}
    values = {"ntid.x": str(threads.count), "nwarpid": str(threads.count // WARP)}
    lines = [text for text in sorted(needed) if text.split("@", 1)[1].split("(", 1)[0] not in declared]
    if {"tid.x", "warpid"} & set(used) and f"{_SREG}tid.x" not in declared:
        lines.append(f"declare i32 @{_SREG}tid.x()")
    for register in sorted(used):
        head = f"define internal i32 {encode_name('@', places[_SREG + register])}() alwaysinline {{"
        if register in values:
            lines += [head, f"  ret i32 {values[register]}", "}"]
            continue
        lines += [head, f"  %all = call i32 @{_SREG}tid.x()", f"  %own = sub nuw nsw i32 %all, {threads.first}"]
        if register == "warpid":
            lines += [f"  %warp = lshr i32 %own, {WARP.bit_length() - 1}", "  ret i32 %warp", "}"]
        else:
            lines += ["  ret i32 %own", "}"]
    return "\n" + "\n".join(lines) + "\n" if lines else ""
