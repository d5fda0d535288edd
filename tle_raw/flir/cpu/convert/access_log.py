"""Under ``knobs.debug``: what programs that may race with others do to common memory, written down as they do it.

A program has a log, whose address its context tells, of the accesses that lie in memory which others reach, and of the
atomics that order them; ``targets/cpu/races`` reads it when all are done. Words of a log::

    0 entries  1 for how many there is room  2 their address  3, 4 and 5, 6 two ranges of common memory
    7 the address of a count of all that orders  8 the first entry behind the last release  9 to 72 a cache of entries

and of an entry: kind, bytes and check; the address; its number among all that orders, else 0. What the same release
follows is written once: a loop that waits looks a million times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tle_raw.flir.cpu.access_kinds import ACQUIRE, ATOMIC, ENTRY_WORDS, LOCAL, OF_PROGRAM, READ, RELEASE, WRITE
from tle_raw.flir.cpu.convert import build, types
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.mlir_values import Operation, Value

_RELAXED, _ACQUIRE, _RELEASE = 1, 2, 3  # Triton's MemSemantic; 4 is both
_KINDS = {"load": READ, "store": WRITE}
_SCOPES = {1: LOCAL, 2: OF_PROGRAM, 3: 0}  # Triton's MemSyncScope: "gpu", "cta", "sys"
_WRITE_THROUGH, _VOLATILE = 6, 7  # of its CacheModifier, `.wt` and `.cv`


def note(kernel: Kernel, op: Operation, address: types.Address, mask: Value | None, access: str) -> None:
    """An element of memory is accessed, where the mask says so."""
    if kernel.watches:
        kind = ATOMIC if _is_strong(op) else _KINDS.get(access, ATOMIC | _scope(op))
        _note(kernel, op, kind, address.integer(), build.bits(address.element) // 8, mask)


def _is_strong(op: Operation) -> bool:
    """Whether a load or a store is meant for words that others change meanwhile: it goes to memory each time."""
    there = op.attributes
    if "isVolatile" in there and there["isVolatile"].value:
        return True
    if "cachePolicy" in there:  # Triton 3.9
        return re.search(r"cache_modifier = (wt|cv)\b", str(there["cachePolicy"])) is not None
    return "cache" in there and there["cache"].value in (_WRITE_THROUGH, _VOLATILE)


def _scope(op: Operation) -> int:
    """How far an atomic reaches."""
    return _SCOPES[op.attributes["scope"].value] if "scope" in op.attributes else 0


def note_element(kernel: Kernel, op: Operation, kind: int, pointer: Value, size: int) -> None:
    """An element of a shared buffer is read or written."""
    if kernel.watches and kernel.groups:
        _note(kernel, op, kind, build.value("llvm.ptrtoint", [pointer], "i64"), size, None)


def _note(kernel: Kernel, op: Operation, kind: int, address: Value, size: int, mask: Value | None) -> None:
    mask = build.constant(True, "i1") if mask is None else mask
    build.call("tle.log_access", [_word(kernel, op, kind, size), address, mask, kernel.context])


def ordered(
    kernel: Kernel,
    op: Operation,
    address: types.Address,
    act: Callable[[], Any],
    changes: Callable[[Any], Value] | None = None,
) -> Callable[[], Any]:
    """An atomic operation, with what it orders. ``changes`` says of its result whether it has changed memory."""
    if not kernel.watches:
        return act
    order = op.attributes["sem"].value if "sem" in op.attributes else 4
    scope = _scope(op)

    def ordering() -> Any:
        at, number = address.integer(), _next_number(kernel)  # a release comes before who sees it
        done = act()
        if order >= _RELEASE and op.name != "tt.atomic_load":
            _log_order(kernel, op, RELEASE | scope, at, number, changes(done) if changes is not None else None)
        if order in (_ACQUIRE, 4) and op.name != "tt.atomic_store":
            order_by(kernel, op, ACQUIRE | scope, at)
        return done

    return ordering


def order_by(kernel: Kernel, op: Operation, kind: int, address: Value) -> None:
    """What stands before is ordered before what another program does behind its acquire of the same address."""
    if kernel.watches:
        _log_order(kernel, op, kind, address, _next_number(kernel), None)


def _log_order(kernel: Kernel, op: Operation, kind: int, address: Value, number: Value, mask: Value | None) -> None:
    mask = build.constant(True, "i1") if mask is None else mask
    build.call("tle.log_order", [_word(kernel, op, kind, 0), address, number, mask, kernel.context])


def _next_number(kernel: Kernel) -> Value:
    kernel.helpers.add(FUNCTIONS)
    return build.call("tle.order_number", [kernel.context], ["i64"])[0]


def _word(kernel: Kernel, op: Operation, kind: int, size: int) -> Value:
    kernel.helpers.add(FUNCTIONS)
    code = kernel.check("access", op.name, op.location)
    return build.constant(kind | size << 8 | code << 16, "i64")


def _field(name: str, number: int, type_: str = "i64") -> str:
    return f"""
    %{name}_at = llvm.getelementptr %log[{number}] : (!llvm.ptr) -> !llvm.ptr, i64
    %{name} = llvm.load %{name}_at : !llvm.ptr -> {type_}"""


_LOG = """
    %log_at = llvm.getelementptr %context[14] : (!llvm.ptr) -> !llvm.ptr, i64
    %log = llvm.load %log_at : !llvm.ptr -> !llvm.ptr
    %log_number = llvm.ptrtoint %log : !llvm.ptr to i64
    %zero = arith.constant 0 : i64
    %logs = arith.cmpi ne, %log_number, %zero : i64"""
FUNCTIONS = f"""
llvm.func @realloc(!llvm.ptr, i64) -> !llvm.ptr
func.func private @tle.log_access(%word: i64, %address: i64, %mask: i1, %context: !llvm.ptr)
                                  attributes {{llvm.no_inline}} {{
    {_LOG}
    %both = arith.andi %logs, %mask : i1
    scf.if %both {{
      {_field("low", 3)}{_field("high", 4)}{_field("low_own", 5)}{_field("high_own", 6)}
      %a = arith.cmpi uge, %address, %low : i64
      %b = arith.cmpi ult, %address, %high : i64
      %c = arith.cmpi uge, %address, %low_own : i64
      %d = arith.cmpi ult, %address, %high_own : i64
      %first = arith.andi %a, %b : i1
      %second = arith.andi %c, %d : i1
      %inside = arith.ori %first, %second : i1
      scf.if %inside {{
        func.call @tle.log_entry(%word, %address, %zero, %log) : (i64, i64, i64, !llvm.ptr) -> ()
      }}
    }}
    return
}}
func.func private @tle.order_number(%context: !llvm.ptr) -> i64 attributes {{llvm.no_inline}} {{
    {_LOG}
    %found = scf.if %logs -> i64 {{
      {_field("counter", 7, "!llvm.ptr")}
      %one = arith.constant 1 : i64
      %number = llvm.atomicrmw add %counter, %one acq_rel : !llvm.ptr, i64
      scf.yield %number : i64
    }} else {{
      scf.yield %zero : i64
    }}
    return %found : i64
}}
func.func private @tle.log_order(%word: i64, %address: i64, %number: i64, %mask: i1, %context: !llvm.ptr)
                                 attributes {{llvm.no_inline}} {{
    {_LOG}
    %both = arith.andi %logs, %mask : i1
    scf.if %both {{
      func.call @tle.log_entry(%word, %address, %number, %log) : (i64, i64, i64, !llvm.ptr) -> ()
    }}
    return
}}
func.func private @tle.log_entry(%word: i64, %address: i64, %number: i64, %log: !llvm.ptr)
                                 attributes {{llvm.no_inline}} {{
    %one = arith.constant 1 : i64
    %words = arith.constant {ENTRY_WORDS} : i64
    {_field("count", 0)}{_field("first", 8)}{_field("entries", 2, "!llvm.ptr")}
    %all_kinds = arith.constant {LOCAL - 1} : i64
    %kind = arith.andi %word, %all_kinds : i64
    %two = arith.constant 2 : i64
    %sixty_three = arith.constant 63 : i64
    %high = arith.shrui %address, %two : i64
    %mixed = arith.xori %high, %word : i64
    %slot = arith.andi %mixed, %sixty_three : i64
    %cache = llvm.getelementptr %log[9] : (!llvm.ptr) -> !llvm.ptr, i64
    %slot_at = llvm.getelementptr %cache[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %known = llvm.load %slot_at : !llvm.ptr -> i64
    %release = arith.constant {RELEASE} : i64
    %releases = arith.cmpi eq, %kind, %release : i64
    %recent = arith.cmpi sge, %known, %first : i64
    %there = arith.cmpi slt, %known, %count : i64
    %true = arith.constant true
    %repeats = arith.xori %releases, %true : i1
    %a = arith.andi %recent, %there : i1
    %may = arith.andi %a, %repeats : i1
    %same = scf.if %may -> i1 {{
      %before = arith.muli %known, %words : i64
      %at = llvm.getelementptr %entries[%before] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %old_word = llvm.load %at : !llvm.ptr -> i64
      %old_address_at = llvm.getelementptr %at[1] : (!llvm.ptr) -> !llvm.ptr, i64
      %old_address = llvm.load %old_address_at : !llvm.ptr -> i64
      %same_word = arith.cmpi eq, %old_word, %word : i64
      %same_address = arith.cmpi eq, %old_address, %address : i64
      %found = arith.andi %same_word, %same_address : i1
      scf.if %found {{
        %number_at = llvm.getelementptr %at[2] : (!llvm.ptr) -> !llvm.ptr, i64
        llvm.store %number, %number_at : i64, !llvm.ptr
      }}
      scf.yield %found : i1
    }} else {{
      %false = arith.constant false
      scf.yield %false : i1
    }}
    %new = arith.xori %same, %true : i1
    scf.if %new {{
      {_field("room", 1)}
      %full = arith.cmpi eq, %count, %room : i64
      %memory = scf.if %full -> !llvm.ptr {{
        %more = arith.shli %room, %one : i64
        %eight_words = arith.constant {8 * ENTRY_WORDS} : i64
        %bytes = arith.muli %more, %eight_words : i64
        %moved = llvm.call @realloc(%entries, %bytes) : (!llvm.ptr, i64) -> !llvm.ptr
        llvm.store %moved, %entries_at : !llvm.ptr, !llvm.ptr
        llvm.store %more, %room_at : i64, !llvm.ptr
        scf.yield %moved : !llvm.ptr
      }} else {{
        scf.yield %entries : !llvm.ptr
      }}
      %before = arith.muli %count, %words : i64
      %at = llvm.getelementptr %memory[%before] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %word, %at : i64, !llvm.ptr
      %address_at = llvm.getelementptr %at[1] : (!llvm.ptr) -> !llvm.ptr, i64
      llvm.store %address, %address_at : i64, !llvm.ptr
      %number_at = llvm.getelementptr %at[2] : (!llvm.ptr) -> !llvm.ptr, i64
      llvm.store %number, %number_at : i64, !llvm.ptr
      %next = arith.addi %count, %one : i64
      llvm.store %next, %log : i64, !llvm.ptr
      llvm.store %count, %slot_at : i64, !llvm.ptr
      scf.if %releases {{
        llvm.store %next, %first_at : i64, !llvm.ptr
      }}
    }}
    return
}}
"""
