"""Partitions of specialised warps take turns on one thread: the default one on the kernel's stack, workers on theirs.

A partition runs until it waits for a phase of a barrier that is not complete, or goes round in a loop that waits for
memory; then it is the next one's turn, of those that can go on. Where none can, nobody can complete anything any more:
the program fails, and the record of the launch's status says who waits where. From then on no wait waits, and the
default partition alone runs on to the kernel's end.

What is known of the partitions is a record on the kernel's own stack: programs on several threads have several::

    0 who runs  1 how many  2 workers that are not done  3 whether it has failed  4 the context  5 the check of a
    standstill, before that of a stack  6, 7, 8 the program  9 what workers were given  10 how often partitions asked
    11 whether any got on since the launch was asked
    and for each partition, the default one first
    0 its stack pointer  1 its state  2 the barrier that it waits for  3 the phase's parity  4 the check of the wait
    5 how many phases must be complete, -1 unless known  6 the barrier's stamps  7 the lowest word of its stack
    8 to 15 its own copy of the context  16 this record

A partition's copy of the context has a function of its own to ask the launch by, which programs call that wait in
memory, and regions of fragments. It is the next partition's turn then; now and then, and where no other can go on, the
launch is asked indeed, on the kernel's stack, for Python needs more than a worker has. A region's threads keep their
stacks while others run: each worker has a workspace of its own for them, whose word is kept in the context.
"""

from __future__ import annotations

from tle_raw.flir.cpu.convert import build
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.stacks import CANARY, stack_functions
from tle_raw.flir.cpu.mlir_values import Operation, Value
from tle_raw.flir.cpu.partition_waits import FIRST

GIVEN = 9
_FIRST, _SIZE = 16, 24  # words before the partitions' own, and of each
_CONTEXT = 8
RUNS, WAITS, DONE, JOINS = range(4)
_STANDSTILL = "tle.gpu.warp_specialize: all partitions wait for barriers that nobody completes"
AHEAD = "a wait for a phase of a barrier that is too far behind: the phase after it is complete too"


def record_type(count: int) -> str:
    """The record of so many partitions."""
    return f"!llvm.array<{_FIRST + count * _SIZE} x i64>"


def begin(kernel: Kernel, op: Operation, record: Value, count: int, given: Value) -> None:
    """All workers begin when the default partition waits."""
    code = kernel.check("standstill", _STANDSTILL, op.location, partitions=count)
    kernel.check("stack_overflow", "a worker needs more stack than it has", op.location)
    kernel.helpers.update((FUNCTIONS, stack_functions()))
    numbers = [build.constant(number, "i64") for number in (count, code)]
    build.call("tle.turns_begin", [record, *numbers, *kernel.program, kernel.context, given])


def add(record: Value, number: int, entry: Value, lowest: Value) -> None:
    """A worker, counted from 1, its function, and the lowest address of its stack."""
    build.call("tle.turns_add", [record, build.constant(number, "i64"), entry, lowest])


def context_of(record: Value, number: int) -> Value:
    """A partition's context."""
    return build.address(record, _FIRST + number * _SIZE + _CONTEXT, "i64")


def end(record: Value) -> None:
    """The default partition is done, and waits for the workers."""
    build.call("tle.turns_end", [record])


def over(record: Value) -> None:
    """A worker is done; this does not return."""
    build.call("tle.turns_over", [record])


def wait(
    kernel: Kernel, barrier: Value, stamps: Value, phase: Value, asked: Value, code: int, wanted: Value | None
) -> None:
    """Let the others run until a phase is complete. ``wanted`` is how many must be, where that is known.

    The check behind ``code`` is that more are complete.
    """
    unknown = build.constant(-1, "i64") if wanted is None else wanted
    build.call(
        "tle.turns_wait", [barrier, stamps, phase, asked, build.constant(code, "i64"), unknown, kernel.partitions]
    )


def let_others_run(kernel: Kernel) -> None:
    """A turn of a loop that waits for memory."""
    build.call("tle.turns_yield", [kernel.partitions])


def _word(name: str, of: str, number: int, type_: str = "i64") -> str:
    return f"""
    %{name}_at = llvm.getelementptr %{of}[{number}] : (!llvm.ptr) -> !llvm.ptr, i64
    %{name} = llvm.load %{name}_at : !llvm.ptr -> {type_}"""


def _set(value: str, of: str, number: int, type_: str = "i64") -> str:
    name = f"{value}_in_{of}_{number}"
    return f"""
    %{name} = llvm.getelementptr %{of}[{number}] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %{value}, %{name} : {type_}, !llvm.ptr"""


_FAIL = "(i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()"
_PROGRAM = _word("x", "record", 6, "i32") + _word("y", "record", 7, "i32") + _word("z", "record", 8, "i32")
_COPIED = "".join(_word(f"c{n}", "context", n) + _set(f"c{n}", "at", _CONTEXT + n) for n in range(8))
_WORKSPACE, _ASK, _WORKSPACES = 2, 5, 8  # fields of a context
_SELDOM = 16  # of so many questions the launch gets one; a power of two
_WHO = FIRST  # where the status record tells of the partitions: of each the check of its wait, and the barrier

FUNCTIONS = f"""
func.func private @tle.partition(%record: !llvm.ptr, %number: i64) -> !llvm.ptr {{
  %size = arith.constant {_SIZE} : i64
  %first = arith.constant {_FIRST} : i64
  %before = arith.muli %number, %size : i64
  %words = arith.addi %before, %first : i64
  %at = llvm.getelementptr %record[%words] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  return %at : !llvm.ptr
}}
func.func private @tle.turns_begin(%record: !llvm.ptr, %count: i64, %code: i64, %x: i32, %y: i32, %z: i32,
                                   %context: !llvm.ptr, %given: !llvm.ptr) attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %unknown = arith.constant -1 : i64
    %at = func.call @tle.partition(%record, %zero) : (!llvm.ptr, i64) -> !llvm.ptr
    {_set("zero", "record", 0)}{_set("count", "record", 1)}{_set("zero", "record", 2)}{_set("zero", "record", 3)}
    {_set("context", "record", 4, "!llvm.ptr")}{_set("code", "record", 5)}{_set("x", "record", 6, "i32")}
    {_set("y", "record", 7, "i32")}{_set("z", "record", 8, "i32")}{_set("given", "record", GIVEN, "!llvm.ptr")}
    {_set("zero", "record", 10)}{_set("zero", "record", 11)}{_set("zero", "at", 1)}{_set("unknown", "at", 5)}
    func.call @tle.turns_context(%at, %record) : (!llvm.ptr, !llvm.ptr) -> ()
    return
}}
func.func private @tle.turns_add(%record: !llvm.ptr, %number: i64, %entry: !llvm.ptr, %lowest: !llvm.ptr)
                                 attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %unknown = arith.constant -1 : i64
    %at = func.call @tle.partition(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
    %stack = func.call @tle.new_stack(%lowest, %record, %entry) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
    {_set("stack", "at", 0, "!llvm.ptr")}{_set("zero", "at", 1)}{_set("unknown", "at", 5)}
    {_set("lowest", "at", 7, "!llvm.ptr")}
    func.call @tle.turns_context(%at, %record) : (!llvm.ptr, !llvm.ptr) -> ()
    %kept = func.call @tle.turns_workspace(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
    %workspace = llvm.load %kept : !llvm.ptr -> i64
    {_set("workspace", "at", _CONTEXT + _WORKSPACE)}
    {_word("left", "record", 2)}
    %more = arith.addi %left, %one : i64
    {_set("more", "record", 2)}
    return
}}
func.func private @tle.turns_context(%at: !llvm.ptr, %record: !llvm.ptr) attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    {_word("context", "record", 4, "!llvm.ptr")}{_COPIED}
    {_set("record", "at", 2 * _CONTEXT, "!llvm.ptr")}
    %can_ask = arith.cmpi ne, %c{_ASK}, %zero : i64
    scf.if %can_ask {{
      %function = func.constant @tle.turns_ask : (!llvm.ptr, i32) -> i32
      %ask = builtin.unrealized_conversion_cast %function : (!llvm.ptr, i32) -> i32 to !llvm.ptr
      {_set("ask", "at", _CONTEXT + _ASK, "!llvm.ptr")}
    }}
    return
}}
func.func private @tle.turns_workspace(%record: !llvm.ptr, %number: i64) -> !llvm.ptr {{
    %zero = arith.constant 0 : i64
    %own = arith.constant {_WORKSPACE} : i64
    %before = arith.constant {_WORKSPACES - 1} : i64
    {_word("context", "record", 4, "!llvm.ptr")}
    %is_default = arith.cmpi eq, %number, %zero : i64
    %theirs = arith.addi %number, %before : i64
    %field = arith.select %is_default, %own, %theirs : i64
    %word = llvm.getelementptr %context[%field] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    return %word : !llvm.ptr
}}
func.func private @tle.turns_ask(%context: !llvm.ptr, %news: i32) -> i32 attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %seldom = arith.constant {_SELDOM - 1} : i64
    {_word("record", "context", _CONTEXT, "!llvm.ptr")}{_word("current", "record", 0)}{_word("asked", "record", 10)}
    {_word("before", "record", 11)}
    %more = arith.addi %asked, %one : i64
    %given = arith.extui %news : i32 to i64
    %known = arith.ori %before, %given : i64
    {_set("more", "record", 10)}{_set("known", "record", 11)}
    %rest = arith.andi %more, %seldom : i64
    %next = func.call @tle.turns_next(%record) : (!llvm.ptr) -> i64
    %other = arith.cmpi ne, %next, %current : i64
    %often = arith.cmpi ne, %rest, %zero : i64
    %passes = arith.andi %other, %often : i1
    %answer = scf.if %passes -> i32 {{
      func.call @tle.turns_to(%record, %next) : (!llvm.ptr, i64) -> ()
      %go_on = arith.constant 0 : i32
      scf.yield %go_on : i32
    }} else {{
      {_word("own", "record", 4, "!llvm.ptr")}{_word("ask", "own", _ASK, "!llvm.ptr")}
      %told = arith.trunci %known : i64 to i32
      {_set("zero", "record", 11)}
      %is_default = arith.cmpi eq, %current, %zero : i64
      %said = scf.if %is_default -> i32 {{
        %here = llvm.call %ask(%own, %told) : !llvm.ptr, (!llvm.ptr, i32) -> i32
        scf.yield %here : i32
      }} else {{
        {_word("stack", "record", _FIRST, "!llvm.ptr")}
        %there = llvm.call @tle.on_stack(%stack, %ask, %own, %told) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
        scf.yield %there : i32
      }}
      scf.yield %said : i32
    }}
    return %answer : i32
}}
func.func private @tle.turns_next(%record: !llvm.ptr) -> i64 attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %three = arith.constant 3 : i64
    %none = arith.constant -1 : i64
    {_word("current", "record", 0)}{_word("count", "record", 1)}{_word("left", "record", 2)}
    %all_done = arith.cmpi eq, %left, %zero : i64
    %end = arith.addi %count, %one : i64
    %next = scf.for %step = %one to %end step %one iter_args(%found = %none) -> (i64) : i64 {{
      %searches = arith.cmpi eq, %found, %none : i64
      %result = scf.if %searches -> i64 {{
        %sum = arith.addi %current, %step : i64
        %number = arith.remui %sum, %count : i64
        %at = func.call @tle.partition(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
        {_word("state", "at", 1)}
        %runs = arith.cmpi eq, %state, %zero : i64
        %joins = arith.cmpi eq, %state, %three : i64
        %waits = arith.cmpi eq, %state, %one : i64
        %complete = scf.if %waits -> i1 {{
          {_word("barrier", "at", 2, "!llvm.ptr")}{_word("parity", "at", 3)}
          %word = llvm.load %barrier : !llvm.ptr -> i64
          %above = arith.constant 63 : i64
          %running = arith.shrui %word, %above : i64
          %differs = arith.cmpi ne, %running, %parity : i64
          scf.yield %differs : i1
        }} else {{
          %false = arith.constant false
          scf.yield %false : i1
        }}
        %joined = arith.andi %joins, %all_done : i1
        %either = arith.ori %runs, %joined : i1
        %can = arith.ori %either, %complete : i1
        %chosen = arith.select %can, %number, %none : i64
        scf.yield %chosen : i64
      }} else {{
        scf.yield %found : i64
      }}
      scf.yield %result : i64
    }}
    return %next : i64
}}
func.func private @tle.turns_to(%record: !llvm.ptr, %number: i64) attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    {_word("current", "record", 0)}
    %at = func.call @tle.partition(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
    {_set("number", "record", 0)}{_set("zero", "at", 1)}
    %other = arith.cmpi ne, %current, %number : i64
    scf.if %other {{
      %from = func.call @tle.partition(%record, %current) : (!llvm.ptr, i64) -> !llvm.ptr
      {_word("stack", "at", 0, "!llvm.ptr")}
      llvm.call @tle.switch(%from, %stack) : (!llvm.ptr, !llvm.ptr) -> ()
    }}
    return
}}
func.func private @tle.turns_on(%record: !llvm.ptr) attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %next = func.call @tle.turns_next(%record) : (!llvm.ptr) -> i64
    %nobody = arith.cmpi slt, %next, %zero : i64
    scf.if %nobody {{
      func.call @tle.turns_standstill(%record) : (!llvm.ptr) -> ()
    }}
    %chosen = arith.select %nobody, %zero, %next : i64
    func.call @tle.turns_to(%record, %chosen) : (!llvm.ptr, i64) -> ()
    return
}}
func.func private @tle.turns_standstill(%record: !llvm.ptr) attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %who = arith.constant {_WHO} : i64
    {_set("one", "record", 3)}{_word("count", "record", 1)}{_word("context", "record", 4, "!llvm.ptr")}
    {_word("code", "record", 5)}{_PROGRAM}{_word("status", "context", 1, "!llvm.ptr")}
    %old = llvm.load %status : !llvm.ptr -> i64
    %first = arith.cmpi eq, %old, %zero : i64
    scf.if %first {{
      scf.for %number = %zero to %count step %one : i64 {{
        %at = func.call @tle.partition(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
        %twice = arith.muli %number, %two : i64
        %place = arith.addi %twice, %who : i64
        %told = llvm.getelementptr %status[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        {_word("state", "at", 1)}
        %waits = arith.cmpi eq, %state, %one : i64
        scf.if %waits {{
          {_word("site", "at", 4)}{_word("barrier", "at", 2, "!llvm.ptr")}
          {_word("wanted", "at", 5)}{_word("stamps", "at", 6, "!llvm.ptr")}
          %word = llvm.load %barrier : !llvm.ptr -> i64
          {_set("site", "told", 0)}{_set("word", "told", 1)}
          %number_of_stamps = llvm.ptrtoint %stamps : !llvm.ptr to i64
          %stamped = arith.cmpi ne, %number_of_stamps, %zero : i64
          scf.if %stamped {{
            %ahead = func.call @tle.turns_ahead(%stamps, %wanted, %site, %record)
              : (!llvm.ptr, i64, i64, !llvm.ptr) -> i1
          }}
        }} else {{
          {_set("zero", "told", 0)}
        }}
      }}
      func.call @tle.fail(%code, %x, %y, %z, %zero, %zero, %zero, %zero, %context) : {_FAIL}
    }}
    return
}}
func.func private @tle.turns_ahead(%stamps: !llvm.ptr, %wanted: i64, %code: i64, %record: !llvm.ptr) -> i1
                                   attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    {_word("completed", "stamps", 6)}
    %given = arith.cmpi sge, %wanted, %zero : i64
    %more = arith.cmpi sgt, %completed, %wanted : i64
    %ahead = arith.andi %given, %more : i1
    scf.if %ahead {{
      {_word("context", "record", 4, "!llvm.ptr")}{_PROGRAM}
      %next = arith.addi %code, %one : i64
      func.call @tle.fail(%next, %x, %y, %z, %wanted, %completed, %zero, %zero, %context) : {_FAIL}
    }}
    return %ahead : i1
}}
func.func private @tle.turns_wait(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %phase: i32, %asked: i1, %code: i64,
                                  %wanted: i64, %record: !llvm.ptr) attributes {{llvm.no_inline}} {{
  scf.if %asked {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %above = arith.constant 63 : i64
    %wide = arith.extui %phase : i32 to i64
    %parity = arith.andi %wide, %one : i64
    %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
    %stamped = arith.cmpi ne, %number, %zero : i64
    %ahead = scf.if %stamped -> i1 {{
      %found = func.call @tle.turns_ahead(%stamps, %wanted, %code, %record) : (!llvm.ptr, i64, i64, !llvm.ptr) -> i1
      scf.yield %found : i1
    }} else {{
      %false = arith.constant false
      scf.yield %false : i1
    }}
    %word = llvm.load %barrier : !llvm.ptr -> i64
    %running = arith.shrui %word, %above : i64
    {_word("failed", "record", 3)}
    %healthy = arith.cmpi eq, %failed, %zero : i64
    %incomplete = arith.cmpi eq, %running, %parity : i64
    %true = arith.constant true
    %right = arith.xori %ahead, %true : i1
    %both = arith.andi %incomplete, %healthy : i1
    %waits = arith.andi %both, %right : i1
    scf.if %waits {{
      {_word("current", "record", 0)}
      %at = func.call @tle.partition(%record, %current) : (!llvm.ptr, i64) -> !llvm.ptr
      {_set("one", "at", 1)}{_set("barrier", "at", 2, "!llvm.ptr")}{_set("parity", "at", 3)}{_set("code", "at", 4)}
      {_set("wanted", "at", 5)}{_set("stamps", "at", 6, "!llvm.ptr")}{_set("one", "record", 11)}
      func.call @tle.turns_on(%record) : (!llvm.ptr) -> ()
      scf.if %stamped {{
        %late = func.call @tle.turns_ahead(%stamps, %wanted, %code, %record) : (!llvm.ptr, i64, i64, !llvm.ptr) -> i1
      }}
    }}
    scf.if %stamped {{
      {_word("now", "stamps", 6)}{_set("now", "stamps", 7)}
    }}
  }}
  return
}}
func.func private @tle.turns_yield(%record: !llvm.ptr) attributes {{llvm.no_inline}} {{
    func.call @tle.turns_on(%record) : (!llvm.ptr) -> ()
    return
}}
func.func private @tle.turns_over(%record: !llvm.ptr) attributes {{llvm.no_inline}} {{
    %one = arith.constant 1 : i64
    %done = arith.constant {DONE} : i64
    {_word("current", "record", 0)}{_word("left", "record", 2)}
    %at = func.call @tle.partition(%record, %current) : (!llvm.ptr, i64) -> !llvm.ptr
    %fewer = arith.subi %left, %one : i64
    {_set("done", "at", 1)}{_set("fewer", "record", 2)}{_set("one", "record", 11)}
    func.call @tle.turns_on(%record) : (!llvm.ptr) -> ()
    return
}}
func.func private @tle.turns_end(%record: !llvm.ptr) attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %joins = arith.constant {JOINS} : i64
    {_word("count", "record", 1)}{_word("left", "record", 2)}{_word("failed", "record", 3)}
    {_word("context", "record", 4, "!llvm.ptr")}{_word("code", "record", 5)}{_PROGRAM}
    %some = arith.cmpi ne, %left, %zero : i64
    %healthy = arith.cmpi eq, %failed, %zero : i64
    %waits = arith.andi %some, %healthy : i1
    scf.if %waits {{
      %at = func.call @tle.partition(%record, %zero) : (!llvm.ptr, i64) -> !llvm.ptr
      {_set("joins", "at", 1)}
      func.call @tle.turns_on(%record) : (!llvm.ptr) -> ()
    }}
    scf.for %number = %zero to %count step %one : i64 {{
      %at = func.call @tle.partition(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
      %kept = func.call @tle.turns_workspace(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
      {_word("workspace", "at", _CONTEXT + _WORKSPACE)}
      llvm.store %workspace, %kept : i64, !llvm.ptr
    }}
    scf.for %number = %one to %count step %one : i64 {{
      %at = func.call @tle.partition(%record, %number) : (!llvm.ptr, i64) -> !llvm.ptr
      {_word("lowest", "at", 7, "!llvm.ptr")}
      %found = llvm.load %lowest : !llvm.ptr -> i64
      %canary = arith.constant {CANARY} : i64
      %overrun = arith.cmpi ne, %found, %canary : i64
      scf.if %overrun {{
        %stack = arith.addi %code, %one : i64
        func.call @tle.fail(%stack, %x, %y, %z, %zero, %zero, %zero, %zero, %context) : {_FAIL}
      }}
    }}
    return
}}
"""
