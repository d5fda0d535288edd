"""What becomes of a barrier's word (``mbarrier_word``), in LLVM's dialect: arrivals, alone or in a group, and waits.

The stamps (none without knobs.debug) of a barrier's bytes 6 and 7 hold how many phases were completed, and how many of
those the program has waited for.
"""

from __future__ import annotations

from tle_raw.flir.cpu.convert.group_functions import GROUP
from tle_raw.flir.cpu.mbarrier_word import ALL_BYTES, COUNT_AT, MOST_ARRIVALS, PENDING_AT, PHASE_AT

# The word after arrivals and bytes, and whether they complete the phase. What else is here for arrivals calls it.
NEXT = f"""
func.func private @tle.barrier_next(%word: i64, %arrivals: i32, %bytes: i32) -> (i64, i1) {{
  %zero = arith.constant 0 : i64
  %all_bytes_bits = arith.constant {ALL_BYTES} : i64
  %all_count_bits = arith.constant {MOST_ARRIVALS} : i64
  %pending_at = arith.constant {PENDING_AT} : i64
  %count_at = arith.constant {COUNT_AT} : i64
  %top = arith.constant {hex(1 << PHASE_AT)} : i64
  %more_bytes = arith.extsi %bytes : i32 to i64
  %all_bytes = arith.addi %word, %more_bytes : i64
  %missing = arith.andi %all_bytes, %all_bytes_bits : i64
  %high = arith.shrui %word, %pending_at : i64
  %fewer = arith.extsi %arrivals : i32 to i64
  %all_left = arith.subi %high, %fewer : i64
  %left = arith.andi %all_left, %all_count_bits : i64
  %both = arith.ori %missing, %left : i64
  %complete = arith.cmpi eq, %both, %zero : i64
  %shifted = arith.shrui %word, %count_at : i64
  %kept = arith.shli %shifted, %count_at : i64
  %flipped = arith.xori %kept, %top : i64
  %count = arith.andi %shifted, %all_count_bits : i64
  %again = arith.shli %count, %pending_at : i64
  %next_phase = arith.ori %flipped, %again : i64
  %pending = arith.shli %left, %pending_at : i64
  %counts = arith.ori %kept, %pending : i64
  %same_phase = arith.ori %counts, %missing : i64
  %next = arith.select %complete, %next_phase, %same_phase : i64
  return %next, %complete : i64, i1
}}
"""
ARRIVE = """
func.func private @tle.barrier_arrive(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %arrivals: i32, %bytes: i32,
                                      %condition: i1) attributes {llvm.no_inline} {
  scf.if %condition {
    %word = llvm.load %barrier : !llvm.ptr -> i64
    %next, %complete = func.call @tle.barrier_next(%word, %arrivals, %bytes) : (i64, i32, i32) -> (i64, i1)
    llvm.store %next, %barrier : i64, !llvm.ptr
    %zero = arith.constant 0 : i64
    %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
    %stamped = arith.cmpi ne, %number, %zero : i64
    %counts = arith.andi %stamped, %complete : i1
    scf.if %counts {
      %completed_at = llvm.getelementptr %stamps[6] : (!llvm.ptr) -> !llvm.ptr, i64
      %completed = llvm.load %completed_at : !llvm.ptr -> i64
      %one = arith.constant 1 : i64
      %more = arith.addi %completed, %one : i64
      llvm.store %more, %completed_at : i64, !llvm.ptr
    }
  }
  return
}
"""
# Of a program in a group: others may signal at the same time.
SIGNAL = f"""
func.func private @tle.barrier_signal(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %arrivals: i32, %bytes: i32,
                                      %context: !llvm.ptr) attributes {{llvm.no_inline}} {{
    {GROUP}
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %first = llvm.load %barrier atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> i64
    %last:2 = scf.while (%word = %first) : (i64) -> (i64, i1) {{
      %next, %complete = func.call @tle.barrier_next(%word, %arrivals, %bytes) : (i64, i32, i32) -> (i64, i1)
      %pair = llvm.cmpxchg %barrier, %word, %next acq_rel acquire : !llvm.ptr, i64
      %seen = llvm.extractvalue %pair[0] : !llvm.struct<(i64, i1)>
      %done = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
      %true = arith.constant true
      %again = arith.xori %done, %true : i1
      scf.condition(%again) %seen, %complete : i64, i1
    }} do {{
    ^bb0(%seen: i64, %unused: i1):
      scf.yield %seen : i64
    }}
    %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
    %stamped = arith.cmpi ne, %number, %zero : i64
    %counts = arith.andi %stamped, %last#1 : i1
    scf.if %counts {{
      %completed_at = llvm.getelementptr %stamps[6] : (!llvm.ptr) -> !llvm.ptr, i64
      %before = llvm.atomicrmw add %completed_at, %one acq_rel : !llvm.ptr, i64
    }}
    %signals = llvm.atomicrmw add %group, %one acq_rel : !llvm.ptr, i64
    return
}}
"""
WAIT = f"""
func.func private @tle.barrier_wait(%barrier: !llvm.ptr, %stamps: !llvm.ptr, %phase: i32, %asked: i1, %code: i64,
                                    %x: i32, %y: i32, %z: i32, %context: !llvm.ptr) attributes {{llvm.no_inline}} {{
  scf.if %asked {{
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i32
    %word = llvm.load %barrier : !llvm.ptr -> i64
    %sixty_three = arith.constant {PHASE_AT} : i64
    %runs64 = arith.shrui %word, %sixty_three : i64
    %runs = arith.trunci %runs64 : i64 to i32
    %wanted = arith.andi %phase, %one : i32
    %waits = arith.cmpi eq, %runs, %wanted : i32
    scf.if %waits {{
      %above_bytes = arith.constant {64 - PENDING_AT} : i64
      %high_bytes = arith.shli %word, %above_bytes : i64
      %bytes = arith.shrsi %high_bytes, %above_bytes : i64
      %above_pending = arith.constant {64 - COUNT_AT} : i64
      %below_pending = arith.constant {64 - (COUNT_AT - PENDING_AT)} : i64
      %high_pending = arith.shli %word, %above_pending : i64
      %pending = arith.shrsi %high_pending, %below_pending : i64
      func.call @tle.fail(%code, %x, %y, %z, %pending, %bytes, %zero, %zero, %context)
        : (i64, i32, i32, i32, i64, i64, i64, i64, !llvm.ptr) -> ()
    }}
    %number = llvm.ptrtoint %stamps : !llvm.ptr to i64
    %stamped = arith.cmpi ne, %number, %zero : i64
    scf.if %stamped {{
      %completed_at = llvm.getelementptr %stamps[6] : (!llvm.ptr) -> !llvm.ptr, i64
      %seen_at = llvm.getelementptr %stamps[7] : (!llvm.ptr) -> !llvm.ptr, i64
      %completed = llvm.load %completed_at : !llvm.ptr -> i64
      llvm.store %completed, %seen_at : i64, !llvm.ptr
    }}
  }}
  return
}}
"""
