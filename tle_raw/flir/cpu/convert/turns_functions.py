"""The turns of partitions, in LLVM's dialect: who runs next, how one waits, and what is said where nobody can go on.

What is known of the partitions is a record on the kernel's own stack: programs on several threads have several::

    0 who runs  1 how many  2 workers that are not done  3 whether it has failed  4 the context  5 the check of a
    standstill, before that of a stack  6, 7, 8 the program  9 what workers were given  10 how often partitions asked
    11 whether any got on since the launch was asked
    and for each partition, the default one first
    0 its stack pointer  1 its state  2 the barrier that it waits for  3 the phase's parity  4 the check of the wait
    5 how many phases must be complete, -1 unless known  6 the barrier's stamps  7 the lowest word of its stack
    8 to 23 its own copy of the context  24 this record
"""

from __future__ import annotations

from tle_raw.flir.cpu import context_fields, partition_waits
from tle_raw.flir.cpu.convert.stacks import CANARY
from tle_raw.flir.cpu.mbarrier_word import PHASE_AT

GIVEN = 9  # where the record tells what workers were given
FIRST, SIZE = 16, 26  # words before the partitions' own, and of each
CONTEXT = 8  # where a partition's copy begins
_COPY = context_fields.WORKSPACES  # its words; the record's address follows
_DONE, _JOINS = 2, 3  # states; 0 runs, 1 waits for a barrier


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
_COPIED = "".join(_word(f"c{n}", "context", n) + _set(f"c{n}", "at", CONTEXT + n) for n in range(_COPY))
_WORKSPACE, _ASK, _WORKSPACES = context_fields.WORKSPACE, context_fields.WAIT, context_fields.WORKSPACES
_WAITED = "".join(
    _word(f"w{n}", "context", n) + _set(f"w{n}", "own", n)
    for n in (context_fields.WAIT_CHECK, context_fields.WAIT_ADDRESS, context_fields.WAIT_VALUE)
)
_SELDOM = 16  # of so many questions the launch gets one; a power of two
_WHO = (
    partition_waits.FIRST
)  # where the status record tells of the partitions: of each the check of its wait, and the barrier

FUNCTIONS = f"""
func.func private @tle.partition(%record: !llvm.ptr, %number: i64) -> !llvm.ptr {{
  %size = arith.constant {SIZE} : i64
  %first = arith.constant {FIRST} : i64
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
    {_set("workspace", "at", CONTEXT + _WORKSPACE)}
    {_word("left", "record", 2)}
    %more = arith.addi %left, %one : i64
    {_set("more", "record", 2)}
    return
}}
func.func private @tle.turns_context(%at: !llvm.ptr, %record: !llvm.ptr) attributes {{llvm.no_inline}} {{
    %zero = arith.constant 0 : i64
    {_word("context", "record", 4, "!llvm.ptr")}{_COPIED}
    {_set("record", "at", CONTEXT + _COPY, "!llvm.ptr")}
    %can_ask = arith.cmpi ne, %c{_ASK}, %zero : i64
    scf.if %can_ask {{
      %function = func.constant @tle.turns_ask : (!llvm.ptr, i32) -> i32
      %ask = builtin.unrealized_conversion_cast %function : (!llvm.ptr, i32) -> i32 to !llvm.ptr
      {_set("ask", "at", CONTEXT + _ASK, "!llvm.ptr")}
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
    {_word("record", "context", _COPY, "!llvm.ptr")}{_word("current", "record", 0)}{_word("asked", "record", 10)}
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
      {_word("own", "record", 4, "!llvm.ptr")}{_word("ask", "own", _ASK, "!llvm.ptr")}{_WAITED}
      %told = arith.trunci %known : i64 to i32
      {_set("zero", "record", 11)}
      %is_default = arith.cmpi eq, %current, %zero : i64
      %said = scf.if %is_default -> i32 {{
        %here = llvm.call %ask(%own, %told) : !llvm.ptr, (!llvm.ptr, i32) -> i32
        scf.yield %here : i32
      }} else {{
        {_word("stack", "record", FIRST, "!llvm.ptr")}
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
          %above = arith.constant {PHASE_AT} : i64
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
    %next = scf.while : () -> i64 {{
      %found = func.call @tle.turns_next(%record) : (!llvm.ptr) -> i64
      %none = arith.cmpi slt, %found, %zero : i64
      %again = scf.if %none -> i1 {{
        %news = func.call @tle.turns_news(%record) : (!llvm.ptr) -> i1
        scf.yield %news : i1
      }} else {{
        %false = arith.constant false
        scf.yield %false : i1
      }}
      scf.condition(%again) %found : i64
    }} do {{
    ^bb0(%unused: i64):
      scf.yield
    }}
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
    %above = arith.constant {PHASE_AT} : i64
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
    %done = arith.constant {_DONE} : i64
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
    %joins = arith.constant {_JOINS} : i64
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
      {_word("workspace", "at", CONTEXT + _WORKSPACE)}
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

# Whether to look again where no partition can go on: other programs of a group may arrive at their barriers.
ALONE = """
func.func private @tle.turns_news(%record: !llvm.ptr) -> i1 {
  %false = arith.constant false
  return %false : i1
}
"""
IN_A_GROUP = f"""
func.func private @tle.turns_news(%record: !llvm.ptr) -> i1 attributes {{llvm.no_inline}} {{
  %zero = arith.constant 0 : i64
  %over = arith.constant 0 : i32
  %what = arith.constant {context_fields.PHASE} : i32
  {_word("current", "record", 0)}{_word("own", "record", 4, "!llvm.ptr")}{_word("ask", "own", _ASK, "!llvm.ptr")}
  %at = func.call @tle.partition(%record, %current) : (!llvm.ptr, i64) -> !llvm.ptr
  {_word("site", "at", 4)}{_word("barrier", "at", 2)}
  {_set("site", "own", context_fields.WAIT_CHECK)}{_set("barrier", "own", context_fields.WAIT_ADDRESS)}
  %is_default = arith.cmpi eq, %current, %zero : i64
  %answer = scf.if %is_default -> i32 {{
    %here = llvm.call %ask(%own, %what) : !llvm.ptr, (!llvm.ptr, i32) -> i32
    scf.yield %here : i32
  }} else {{
    {_word("stack", "record", FIRST, "!llvm.ptr")}
    %there = llvm.call @tle.on_stack(%stack, %ask, %own, %what) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> i32
    scf.yield %there : i32
  }}
  %again = arith.cmpi eq, %answer, %over : i32
  return %again : i1
}}
"""
