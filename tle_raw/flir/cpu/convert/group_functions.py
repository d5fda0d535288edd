"""What programs of a group do to each other, in LLVM's dialect: asking the launch, others' addresses, waits.

The group's record, which the context tells: word 0 counts arrivals at barriers, then the bytes of scratch memory, how
many programs the group has, how many a cluster has, and the addresses of all contexts.
"""

from __future__ import annotations

from tle_raw.flir.cpu.context_fields import PHASE
from tle_raw.flir.cpu.mbarrier_word import PHASE_AT

GROUP = """
    %group_at = llvm.getelementptr %context[12] : (!llvm.ptr) -> !llvm.ptr, i64
    %group = llvm.load %group_at : !llvm.ptr -> !llvm.ptr"""
# Fields of the context: 0 scratch memory, 5 the function that is asked, 8 to 10 what for, 12 the group, 13 the member.
FUNCTIONS = f"""
func.func private @tle.meet(%what: i32, %check: i64, %address: i64, %context: !llvm.ptr) -> i1
                            attributes {{llvm.no_inline}} {{
  %zero = arith.constant 0 : i64
  %over = arith.constant 0 : i32
  %check_at = llvm.getelementptr %context[8] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %check, %check_at : i64, !llvm.ptr
  %address_at = llvm.getelementptr %context[9] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %address, %address_at : i64, !llvm.ptr
  %ask_at = llvm.getelementptr %context[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %ask = llvm.load %ask_at : !llvm.ptr -> !llvm.ptr
  %answer = llvm.call %ask(%context, %what) : !llvm.ptr, (!llvm.ptr, i32) -> i32
  %leave = arith.cmpi ne, %answer, %over : i32
  return %leave : i1
}}
func.func private @tle.scratch_of(%member: i64, %context: !llvm.ptr) -> i64 {{
    {GROUP}
    %first = llvm.getelementptr %group[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %other_at = llvm.getelementptr %first[%member] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %other = llvm.load %other_at : !llvm.ptr -> !llvm.ptr
    %scratch = llvm.load %other : !llvm.ptr -> i64
    return %scratch : i64
}}
func.func private @tle.mapped(%address: i64, %rank: i32, %blocks: i32, %code: i64, %x: i32, %y: i32, %z: i32,
                              %context: !llvm.ptr) -> i64 attributes {{llvm.no_inline}} {{
  %zero = arith.constant 0 : i64
  %wide = arith.extui %rank : i32 to i64
  %count = arith.extui %blocks : i32 to i64
  %wrong = arith.cmpi uge, %wide, %count : i64
  %found = scf.if %wrong -> i64 {{
    %signed = arith.extsi %rank : i32 to i64
    func.call @tle.fail(%code, %x, %y, %z, %signed, %count, %zero, %zero, %context)
      : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    scf.yield %address : i64
  }} else {{
    %member_at = llvm.getelementptr %context[13] : (!llvm.ptr) -> !llvm.ptr, i64
    %member = llvm.load %member_at : !llvm.ptr -> i64
    %place = arith.remui %member, %count : i64
    %first = arith.subi %member, %place : i64
    %other = arith.addi %first, %wide : i64
    %own = llvm.load %context : !llvm.ptr -> i64
    %theirs = func.call @tle.scratch_of(%other, %context) : (i64, !llvm.ptr) -> i64
    %offset = arith.subi %address, %own : i64
    %mapped = arith.addi %theirs, %offset : i64
    scf.yield %mapped : i64
  }}
  return %found : i64
}}
func.func private @tle.own_place(%address: i64, %context: !llvm.ptr) -> i64 attributes {{llvm.no_inline}} {{
    {GROUP}
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %bytes_at = llvm.getelementptr %group[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %bytes = llvm.load %bytes_at : !llvm.ptr -> i64
    %count_at = llvm.getelementptr %group[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %count = llvm.load %count_at : !llvm.ptr -> i64
    %own = llvm.load %context : !llvm.ptr -> i64
    %found = scf.for %member = %zero to %count step %one iter_args(%so_far = %address) -> (i64) : i64 {{
      %start = func.call @tle.scratch_of(%member, %context) : (i64, !llvm.ptr) -> i64
      %offset = arith.subi %address, %start : i64
      %inside = arith.cmpi ult, %offset, %bytes : i64
      %here = arith.addi %own, %offset : i64
      %next = arith.select %inside, %here, %so_far : i64
      scf.yield %next : i64
    }}
    return %found : i64
}}
func.func private @tle.in_scratch(%address: i64, %context: !llvm.ptr) -> i1 {{
    {GROUP}
    %bytes_at = llvm.getelementptr %group[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %bytes = llvm.load %bytes_at : !llvm.ptr -> i64
    %own = llvm.load %context : !llvm.ptr -> i64
    %offset = arith.subi %address, %own : i64
    %inside = arith.cmpi ult, %offset, %bytes : i64
    return %inside : i1
}}
func.func private @tle.phase_wait(%barrier: !llvm.ptr, %phase: i32, %asked: i1, %code: i64, %context: !llvm.ptr)
                                  attributes {{llvm.no_inline}} {{
  scf.if %asked {{
    %one = arith.constant 1 : i64
    %true = arith.constant true
    %above = arith.constant {PHASE_AT} : i64
    %wide = arith.extui %phase : i32 to i64
    %wanted = arith.andi %wide, %one : i64
    %number = llvm.ptrtoint %barrier : !llvm.ptr to i64
    scf.while : () -> () {{
      %word = llvm.load %barrier atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> i64
      %runs = arith.shrui %word, %above : i64
      %waits = arith.cmpi eq, %runs, %wanted : i64
      %again = scf.if %waits -> i1 {{
        %what = arith.constant {PHASE} : i32
        %over = func.call @tle.meet(%what, %code, %number, %context) : (i32, i64, i64, !llvm.ptr) -> i1
        %goes_on = arith.xori %over, %true : i1
        scf.yield %goes_on : i1
      }} else {{
        %false = arith.constant false
        scf.yield %false : i1
      }}
      scf.condition(%again)
    }} do {{
      scf.yield
    }}
  }}
  return
}}
"""
