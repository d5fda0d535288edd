"""A partition of three warps: a fragment has its 96 threads, Triton's own code those of four warps."""

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import InOut, Out, Pointer, Tile

SIZE = 256

# Turns a tile round, meets, and takes each element from the thread of the next one; counts the threads, and says how
# many its block has.
_TEXT = f"""
define void @turned(ptr addrspace(3) %t, ptr addrspace(3) %u, ptr addrspace(1) %counts) {{
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %one = atomicrmw add ptr addrspace(1) %counts, i32 1 monotonic
  %second = getelementptr i32, ptr addrspace(1) %counts, i64 1
  store i32 %threads, ptr addrspace(1) %second
  br label %turn
turn:
  %k = phi i32 [ %thread, %entry ], [ %next, %swap ]
  %more = icmp ult i32 %k, {SIZE // 2}
  br i1 %more, label %swap, label %meet
swap:
  %back = sub i32 {SIZE - 1}, %k
  %low = getelementptr float, ptr addrspace(3) %t, i32 %k
  %high = getelementptr float, ptr addrspace(3) %t, i32 %back
  %a = load float, ptr addrspace(3) %low
  %b = load float, ptr addrspace(3) %high
  store float %b, ptr addrspace(3) %low
  store float %a, ptr addrspace(3) %high
  %next = add i32 %k, %threads
  br label %turn
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %take
take:
  %i = phi i32 [ %thread, %meet ], [ %then, %one_more ]
  %left = icmp ult i32 %i, {SIZE}
  br i1 %left, label %one_more, label %end
one_more:
  %beside = add i32 %i, 1
  %from = and i32 %beside, {SIZE - 1}
  %source = getelementptr float, ptr addrspace(3) %t, i32 %from
  %target = getelementptr float, ptr addrspace(3) %u, i32 %i
  %value = load float, ptr addrspace(3) %source
  store float %value, ptr addrspace(3) %target
  %then = add i32 %i, %threads
  br label %take
end:
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"""


def _turned(t: InOut[Tile["f32", SIZE]], u: Out[Tile["f32", SIZE]], counts: InOut[Pointer["i32"]]): ...


turned = tle_raw.fragment(_TEXT, signature=_turned, dialect="llvm")


@triton.jit
def part(x, counts, rows: tl.constexpr, B: tl.constexpr, FRAGMENT: tl.constexpr):
    i = tl.arange(0, B)
    for row in range(rows):
        _, u = FRAGMENT(tl.load(x + row * B + i) + 1, counts)
        tl.store(x + row * B + i, u - tl.max(u, 0))


@triton.jit
def three(x, y, counts, others, rows: tl.constexpr, B: tl.constexpr, FRAGMENT: tl.constexpr, WARPS: tl.constexpr):
    """The kernel's own warps and a worker's do the same to rows of their own."""
    tle.gpu.warp_specialize(
        [(part, (x, counts, rows, B, FRAGMENT)), (part, (y, others, rows, B, FRAGMENT))], worker_num_warps=[WARPS]
    )


def expected(x, rows: int):
    """The rows in float64."""
    turned_round = (x.double().view(rows, SIZE) + 1).flip(1).roll(-1, 1)
    return (turned_round - turned_round.amax(1, keepdim=True)).flatten()


@triton.jit
def meets(bar):
    tle.gpu.barrier_wait(bar)


@triton.jit
def nothing(bar):
    pass


@triton.jit
def met(x):
    tle.gpu.warp_specialize([(nothing, (3,)), (meets, (tle.gpu.alloc_barrier(96),))], [3])
