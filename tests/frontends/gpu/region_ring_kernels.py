"""Partitions with regions of several languages: memory and barriers of their own, and rings between them and Triton."""

import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
import tle_raw.mlir as mlir
from tle_raw import AnyLayout, Barrier, Buffer, Descriptor, In, InOut, Out, Pointer, Scalar, Tile

# --- shared memory and barriers of a fragment's own -----------------------------------------------------------------

LARGEST = 256
# y[i] = y[n - 1 - i] / 2 + i % 7, by shared memory: a barrier too early, or memory of others, gives other numbers.
TURN = r"""
__device__ void turn_all(float* y, int n) {
  __shared__ float all[256];
  for (int i = threadIdx.x; i < n; i += blockDim.x) all[i] = y[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = all[n - 1 - i] * 0.5f + i % 7;
  __syncthreads();
}
"""


@tle_raw.dialect("cuda", source=TURN)
def turn_all(y: InOut[Pointer["f32"]], n: Scalar["i32"]): ...


TURN_KERNEL = 'extern "C" ' + TURN.strip().replace("__device__", "__global__")

# The same with warps that meet in pairs at barriers with numbers, and count at one.
TURN_NAMED = r"""
__device__ int turns;
__device__ void turn_named(float* y, int n, int* count) {
  __shared__ float all[256];
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < n; i += blockDim.x) all[i] = y[i];
  if (warps > 1 && warp % 2 == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
  if (warps > 1 && warp % 2 == 1) asm volatile("barrier.cta.sync %0, %1;" :: "n"(1), "n"(64) : "memory");
  if (warps > 2) {  // two pairs at one barrier mix: all meet once more
    asm volatile("bar.arrive 2, %0;" :: "r"(2 * blockDim.x) : "memory");
    asm volatile("bar.sync 2, %0;" :: "r"(2 * blockDim.x) : "memory");
  }
  __syncwarp();
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  for (int i = thread; i < n; i += blockDim.x) y[i] = all[n - 1 - i] * 0.5f + i % 7;
  const int odd = __syncthreads_count(thread % 2), some = __syncthreads_or(thread == 5), every = __syncthreads_and(1);
  if (thread == 0) {
    atomicAdd(&turns, 1);
    count[0] += odd + (some ? 1000 : 0) + (every ? 10000 : 0);
  }
  __syncthreads();
}
"""


@tle_raw.dialect("cuda", source=TURN_NAMED)
def turn_named(y: InOut[Pointer["f32"]], n: Scalar["i32"], count: InOut[Pointer["i32"]]): ...


@tle_raw.dialect("llvm", source="""
@all = internal addrspace(3) global [256 x float] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define void @turn_llvm(ptr addrspace(1) %y, i32 %n) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  br label %fill
fill:
  %i = phi i32 [ %thread, %entry ], [ %i.next, %filled ]
  %i.more = icmp slt i32 %i, %n
  br i1 %i.more, label %filled, label %meet
filled:
  %from = getelementptr float, ptr addrspace(1) %y, i32 %i
  %v = load float, ptr addrspace(1) %from
  %to = getelementptr float, ptr addrspace(3) @all, i32 %i
  store float %v, ptr addrspace(3) %to
  %i.next = add i32 %i, %threads
  br label %fill
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %last = sub i32 %n, 1
  br label %turn
turn:
  %j = phi i32 [ %thread, %meet ], [ %j.next, %turned ]
  %j.more = icmp slt i32 %j, %n
  br i1 %j.more, label %turned, label %end
turned:
  %other = sub i32 %last, %j
  %at = getelementptr float, ptr addrspace(3) @all, i32 %other
  %w = load float, ptr addrspace(3) %at
  %half = fmul float %w, 0.5
  %rest = srem i32 %j, 7
  %add = sitofp i32 %rest to float
  %r = fadd float %half, %add
  %back = getelementptr float, ptr addrspace(1) %y, i32 %j
  store float %r, ptr addrspace(1) %back
  %j.next = add i32 %j, %threads
  br label %turn
end:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
""")  # fmt: skip
def turn_llvm(y: InOut[Pointer["f32"]], n: Scalar["i32"]): ...


@tle_raw.dialect("mlir")
def turn_mlir(y: InOut[Pointer["f32"]], n: Scalar["i32"]):
    all = mlir.shared("f32", 256)
    for i in range(mlir.thread_id(), n, mlir.block_dim()):
        all[i] = y[i]
    mlir.barrier()
    for i in range(mlir.thread_id(), n, mlir.block_dim()):
        y[i] = all[n - 1 - i] * 0.5 + float(i % 7)
    mlir.barrier()


def turn_pycuda():
    return tle_raw.pycuda.SourceModule(TURN_KERNEL.removeprefix('extern "C" ')).get_function("turn_all")


def turn_cupy():
    import cupy

    return tle_raw.fragment(cupy.RawKernel(TURN_KERNEL, "turn_all"))


def turn_numba():
    from numba import cuda, float32

    @cuda.jit
    def turn(y, n):
        all = cuda.shared.array(256, float32)
        for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            all[i] = y[i]
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            y[i] = all[n - 1 - i] * float32(0.5) + float32(i % 7)
        cuda.syncthreads()

    return tle_raw.fragment(turn, types="void(CPointer(float32), int32)")


TURNS = {
    "cuda": lambda: turn_all,
    "llvm": lambda: turn_llvm,
    "mlir": lambda: turn_mlir,
    "pycuda": turn_pycuda,
    "cupy": turn_cupy,
    "numba": turn_numba,
}


@triton.jit
def turn_often(y, size, rounds, TURN: tl.constexpr):
    for _ in range(rounds):
        TURN(y, size)


@triton.jit
def turns(y, size, rounds, TURN: tl.constexpr, B: tl.constexpr):
    """Four rows of `size` elements, turned by partitions of 4, 1, 2 and 8 warps, each at its own pace."""
    row = y + tl.program_id(0) * 4 * B
    TURN(row, size)
    tle.gpu.warp_specialize(
        [
            (turn_often, (row, size, rounds, TURN)),
            (turn_often, (row + B, size, 3 * rounds, TURN)),
            (turn_often, (row + 2 * B, size, 2 * rounds, TURN)),
            (turn_often, (row + 3 * B, size, rounds + 1, TURN)),
        ],
        [1, 2, 8],
    )
    TURN(row, size)


@triton.jit
def turn_and_count(y, size, rounds, count):
    for _ in range(rounds):
        turn_named(y, size, count)


@triton.jit
def named(y, size, rounds, counts, B: tl.constexpr):
    """The same with barriers that have numbers, and sums of what the barriers count."""
    row, count = y + tl.program_id(0) * 3 * B, counts + tl.program_id(0) * 3
    tle.gpu.warp_specialize(
        [
            (turn_and_count, (row, size, rounds, count)),
            (turn_and_count, (row + B, size, 3 * rounds, count + 1)),
            (turn_and_count, (row + 2 * B, size, 2 * rounds, count + 2)),
        ],
        [1, 2],
    )


@triton.jit
def turn_in_turn(y, size, rounds, count, mine, other, FIRST: tl.constexpr):
    if not FIRST:
        tle.gpu.barrier_arrive(other)
    for _ in range(rounds):
        tle.gpu.barrier_wait(mine)
        turn_named(y, size, count)
        tle.gpu.barrier_arrive(other)
    if FIRST:
        tle.gpu.barrier_wait(mine)


@triton.jit
def named_in_turn(y, size, rounds, counts, B: tl.constexpr):
    """Two partitions that take turns by named barriers of the kernel, beside those of their fragment."""
    row, count = y + tl.program_id(0) * 2 * B, counts + tl.program_id(0) * 2
    pace = tle.gpu.alloc_barriers(2, arrive_count=192)
    tle.gpu.warp_specialize(
        [
            (turn_in_turn, (row, size, rounds, count, pace[0], pace[1], True)),
            (turn_in_turn, (row + B, size, rounds, count + 1, pace[1], pace[0], False)),
        ],
        [2],
    )


# --- tiles, in loops -------------------------------------------------------------------------------------------------


@tle_raw.dialect("cuda", source="""
#include <tle_raw/tile.h>
template <int M, int N> __device__ float centred(tle::tile<float, M, N> x) {
  __shared__ float sums[M];
  for (int i = x.thread(); i < M; i += x.threads()) {
    float sum = 0;
    for (int j = 0; j < N; ++j) sum += x(i, j);
    sums[i] = sum / N;
  }
  __syncthreads();
  for (int i : x.indices()) x[i] -= sums[i / N];
  return sums[M - 1];
}
""")  # fmt: skip
def centred(x: InOut[Tile["f32", "M", "N"]]) -> Scalar["f32"]: ...


@triton.jit
def centre_rows(x, o, means, n, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    for i in range(n):
        y, mean = centred(tl.load(x + i * M * N + at))
        tl.store(o + i * M * N + at, y - tl.max(y, 1)[:, None])
        tl.store(means + i, mean)


@triton.jit
def centre(x, o, means, n, M: tl.constexpr, N: tl.constexpr):
    """Blocks of rows less their means and their largest elements, n of each partition."""
    size = n * M * N
    tle.gpu.warp_specialize(
        [
            (centre_rows, (x, o, means, n, M, N)),
            (centre_rows, (x + size, o + size, means + n, n, M, N)),
            (centre_rows, (x + 2 * size, o + 2 * size, means + 2 * n, n, M, N)),
        ],
        [4, 1],
    )


# --- a CUDA producer and a Triton consumer ---------------------------------------------------------------------------

GATHER = r"""
#include <cuda_fp16.h>
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>

// Rows of a table, 16 bytes at a time, into a slot once it is empty; rows below 0 are zeros.
template <int M, int K, class Layout>
__device__ void gather(const __half* table, const int* index, int stride, int column,
                       tle::buffer<__half, Layout, M, K> to, tle::barrier empty, tle::barrier full, int use) {
  empty.wait(use);
  for (int i : to.template vectors<8>()) {
    const int row = index[i / K];
    uint4 bits = make_uint4(0, 0, 0, 0);
    if (row >= 0) bits = *(const uint4*)(table + (long long)row * stride + column + i % K);
    *(uint4*)to.data(i / K, i % K) = bits;
  }
  tle::barrier::fence();
  __syncthreads();
  if (to.thread() == 0) full.arrive();
}
"""


@tle_raw.dialect("cuda", source=GATHER)
def gather(
    table: Pointer["f16"],
    index: Pointer["i32"],
    stride: Scalar["i32"],
    column: Scalar["i32"],
    to: Out[Buffer["f16", "M", "K", AnyLayout]],
    empty: Barrier,
    full: Barrier,
    use: Scalar["i32"],
): ...


@triton.jit
def produce_rows(
    a_ptr, index_ptr, b_desc, a, b, empty, full_a, full_b, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    S: tl.constexpr,
):  # fmt: skip
    for i in range(k):
        slot = i % S
        gather(a_ptr, index_ptr, k * K, i * K, a[slot], empty[slot], full_a[slot], i // S)
        tle.gpu.copy(b_desc, b[slot], [N, K], offsets=[0, i * K], barrier=full_b[slot])


@triton.jit
def multiply_rows(
    c_ptr, a, b, empty, full_a, full_b, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr
):
    acc = tl.zeros([M, N], tl.float32)
    for i in range(k):
        slot = i % S
        tle.gpu.barrier_wait(full_a[slot], i // S)
        tle.gpu.barrier_wait(full_b[slot], i // S)
        acc = tle.gpu.wgmma(a[slot], b[slot], acc, trans_b=True)
        acc = tle.gpu.wgmma_wait(1, acc)
        if i > 0:
            tle.gpu.barrier_arrive(empty[(i - 1) % S], 1, (i - 1) // S)
    acc = tle.gpu.wgmma_wait(0, acc)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


@triton.jit
def gathered_product(
    a_ptr, index_ptr, b_desc, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr,
    WARPS: tl.constexpr,
):  # fmt: skip
    """Rows of a table times B^T: CUDA code in a worker fetches the rows, the kernel's own warps multiply."""
    a, b = tle.gpu.alloc([S, M, K], tl.float16), tle.gpu.alloc([S, N, K], tl.float16)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    full_a, full_b = tle.gpu.alloc_barriers(S), tle.gpu.alloc_barriers(S, expect_bytes=N * K * 2)
    tle.gpu.warp_specialize(
        [
            (multiply_rows, (c_ptr, a, b, empty, full_a, full_b, k, M, N, K, S)),
            (produce_rows, (a_ptr, index_ptr, b_desc, a, b, empty, full_a, full_b, k, M, N, K, S)),
        ],
        [WARPS],
    )


# --- a Triton producer and a CUDA consumer ---------------------------------------------------------------------------

WGMMA = r"""
#include <cuda_fp16.h>
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>
#include <tle_raw/tile.h>

// Where a matrix lies whose rows have 128 bytes, swizzled.
__device__ unsigned long long matrix_at(const void* data) {
  const unsigned address = unsigned(__cvta_generic_to_shared(data));
  return ((address & 0x3ffff) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}

// C = A @ B^T of all that another partition brings; four warps, 64 x 64 elements.
template <class LayoutA, class LayoutB>
__device__ void multiply_slots(tle::buffer<const __half, LayoutA, 64, 64> a_0,
                               tle::buffer<const __half, LayoutB, 64, 64> b_0,
                               tle::buffer<const __half, LayoutA, 64, 64> a_1,
                               tle::buffer<const __half, LayoutB, 64, 64> b_1, tle::barrier full_0,
                               tle::barrier full_1, tle::barrier empty_0, tle::barrier empty_1, float* c, int k) {
  float d[32];
  for (float& x : d) x = 0;
  for (int i = 0; i < k; ++i) {
    const int slot = i % 2;
    (slot ? full_1 : full_0).wait(i / 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int step = 0; step < 4; ++step) {
      const unsigned long long left = matrix_at(slot ? a_1.data() : a_0.data()) + 2 * step;
      const unsigned long long right = matrix_at(slot ? b_1.data() : b_0.data()) + 2 * step;
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
          "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
          "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
            "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
            "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
            "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
          : "l"(left), "l"(right) : "memory");
    }
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) (slot ? empty_1 : empty_0).arrive();
  }
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int i = 0; i < 32; ++i) c[(row + i % 4 / 2 * 8) * 64 + i / 4 * 8 + column + i % 2] = d[i];
}
"""


@tle_raw.dialect("cuda", source=WGMMA)
def multiply_slots(
    a_0: In[Buffer["f16", 64, 64, AnyLayout]],
    b_0: In[Buffer["f16", 64, 64, AnyLayout]],
    a_1: In[Buffer["f16", 64, 64, AnyLayout]],
    b_1: In[Buffer["f16", 64, 64, AnyLayout]],
    full_0: Barrier,
    full_1: Barrier,
    empty_0: Barrier,
    empty_1: Barrier,
    c: InOut[Pointer["f32"]],
    k: Scalar["i32"],
): ...


@triton.jit
def bring_tiles(a_desc, b_desc, a, b, full, empty, k):
    for i in range(k):
        slot = i % 2
        tle.gpu.barrier_wait(empty[slot], i // 2)
        tle.gpu.copy(a_desc, a[slot], [64, 64], offsets=[0, i * 64], barrier=full[slot])
        tle.gpu.copy(b_desc, b[slot], [64, 64], offsets=[0, i * 64], barrier=full[slot])


@triton.jit
def multiply_by_cuda(a, b, full, empty, c_ptr, k):
    multiply_slots(a[0], b[0], a[1], b[1], full[0], full[1], empty[0], empty[1], c_ptr, k)


@triton.jit
def product_by_cuda(a_desc, b_desc, c_ptr, k, CONSUMER_FIRST: tl.constexpr, WARPS: tl.constexpr):
    """C = A @ B^T: Triton code copies by the copy engine, CUDA code of four warps multiplies."""
    a, b = tle.gpu.alloc([2, 64, 64], tl.float16), tle.gpu.alloc([2, 64, 64], tl.float16)
    full = tle.gpu.alloc_barriers(2, expect_bytes=2 * 64 * 64 * 2)
    empty = tle.gpu.alloc_barriers(2, init=tle.gpu.READY)
    if CONSUMER_FIRST:
        tle.gpu.warp_specialize(
            [
                (multiply_by_cuda, (a, b, full, empty, c_ptr, k)),
                (bring_tiles, (a_desc, b_desc, a, b, full, empty, k)),
            ],
            [WARPS],
        )
    else:
        tle.gpu.warp_specialize(
            [
                (bring_tiles, (a_desc, b_desc, a, b, full, empty, k)),
                (multiply_by_cuda, (a, b, full, empty, c_ptr, k)),
            ],
            [WARPS],
        )


# --- rings of several languages --------------------------------------------------------------------------------------

RING = r"""
#include <tle_raw/barrier.h>
#include <tle_raw/buffer.h>

template <int B, class Layout>
__device__ void fill_slot(const float* x, int count, tle::buffer<float, Layout, B> slot, tle::barrier empty,
                          tle::barrier full, int use) {
  empty.wait(use);
  for (int i : slot.indices()) slot[i] = i < count ? x[i] : 0;
  __syncthreads();
  if (slot.thread() == 0) full.arrive();
}

// A row less its largest element, which the partition finds together.
template <int B, class Layout>
__device__ void take_slot(float* o, tle::buffer<const float, Layout, B> slot, tle::barrier full, tle::barrier empty,
                          int use) {
  __shared__ float best[32];
  full.wait(use);
  float most = slot[0];
  for (int i : slot.indices()) most = fmaxf(most, slot[i]);
  for (int step = 16; step; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  if (threadIdx.x % 32 == 0) best[threadIdx.x / 32] = most;
  __syncthreads();
  for (int i = 0; i < blockDim.x / 32; ++i) most = fmaxf(most, best[i]);
  for (int i : slot.indices()) o[i] = slot[i] - most;
  __syncthreads();
  if (slot.thread() == 0) empty.arrive();
}
"""


@tle_raw.dialect("cuda", source=RING)
def fill_slot(
    x: Pointer["f32"],
    count: Scalar["i32"],
    slot: Out[Buffer["f32", "B", AnyLayout]],
    empty: Barrier,
    full: Barrier,
    use: Scalar["i32"],
): ...


@tle_raw.dialect("cuda", source=RING)
def take_slot(
    o: InOut[Pointer["f32"]],
    slot: In[Buffer["f32", "B", AnyLayout]],
    full: Barrier,
    empty: Barrier,
    use: Scalar["i32"],
): ...


@tle_raw.dialect("mlir")
def fill_slot_mlir(
    x: Pointer["f32"],
    count: Scalar["i32"],
    slot: Out[Buffer["f32", "B"]],
    empty: Barrier,
    full: Barrier,
    use: Scalar["i32"],
):
    mlir.barrier_wait(empty, use)
    for i in range(mlir.thread_id(), B, mlir.block_dim()):
        slot[i] = x[i] if i < count else 0.0
    mlir.barrier()
    if mlir.thread_id() == 0:
        mlir.barrier_arrive(full)


@triton.jit
def fill_by(x, ring, full, empty, n, size, FILL: tl.constexpr, B: tl.constexpr, S: tl.constexpr):
    for row in range(n):
        FILL(x + row * B, size - row * B, ring[row % S], empty[row % S], full[row % S], row // S)


@triton.jit
def fill_by_triton(x, ring, full, empty, n, size, FILL: tl.constexpr, B: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, B)
    for row in range(n):
        tle.gpu.barrier_wait(empty[row % S], row // S)
        ring[row % S].store(tl.load(x + row * B + i, mask=row * B + i < size, other=0))
        tle.gpu.barrier_arrive(full[row % S], 1, row // S)


@triton.jit
def take_by(o, ring, full, empty, n, TAKE: tl.constexpr, B: tl.constexpr, S: tl.constexpr):
    for row in range(n):
        TAKE(o + row * B, ring[row % S], full[row % S], empty[row % S], row // S)


@triton.jit
def take_by_triton(o, ring, full, empty, n, TAKE: tl.constexpr, B: tl.constexpr, S: tl.constexpr):
    i = tl.arange(0, B)
    for row in range(n):
        tle.gpu.barrier_wait(full[row % S], row // S)
        x = ring[row % S].load()
        tle.gpu.barrier_arrive(empty[row % S], 1, row // S)
        tl.store(o + row * B + i, x - tl.max(x, 0))


@triton.jit
def idle(o):
    pass


@triton.jit
def through_ring(
    x, o, n, size, PRODUCE: tl.constexpr, FILL: tl.constexpr, CONSUME: tl.constexpr, TAKE: tl.constexpr,
    B: tl.constexpr, S: tl.constexpr, W1: tl.constexpr, W2: tl.constexpr,
):  # fmt: skip
    """Rows less their largest elements, by a ring from one worker to another."""
    ring = tle.gpu.alloc([S, B], tl.float32)
    full = tle.gpu.alloc_barriers(S)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (idle, (o,)),
            (PRODUCE, (x, ring, full, empty, n, size, FILL, B, S)),
            (CONSUME, (o, ring, full, empty, n, TAKE, B, S)),
        ],
        [W1, W2],
    )


PRODUCERS = {
    "cuda": (fill_by, fill_slot),
    "mlir": (fill_by, fill_slot_mlir),
    "triton": (fill_by_triton, None),
}
CONSUMERS = {"cuda": (take_by, take_slot), "triton": (take_by_triton, None)}
# (producer, consumer): one of the two is a region
RINGS = [("cuda", "triton"), ("triton", "cuda"), ("cuda", "cuda"), ("mlir", "triton"), ("mlir", "cuda")]


# --- copies by descriptors -------------------------------------------------------------------------------------------


@tle_raw.dialect("cuda", source="""
#include <tle_raw/barrier.h>
#include <tle_raw/descriptor.h>
template <class T, int M, int N, class Layout>
__device__ void fetch(tle::descriptor<T, M, N> source, int row, int column, tle::buffer<T, Layout, M, N> to,
                      tle::barrier empty, tle::barrier full, int use) {
  if (to.thread() == 0) {
    empty.wait(use);
    full.expect(source.bytes());
    source.load(to, full, row, column);
  }
}
""")  # fmt: skip
def fetch(
    source: Descriptor["T", "M", "N"],
    row: Scalar["i32"],
    column: Scalar["i32"],
    to: Out[Buffer["T", "M", "N", AnyLayout]],
    empty: Barrier,
    full: Barrier,
    use: Scalar["i32"],
): ...


@triton.jit
def fetch_blocks(x_desc, slots, full, empty, n, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    for i in range(n):
        fetch(x_desc, i * M, 0, slots[i % S], empty[i % S], full[i % S], i // S)


@triton.jit
def double_blocks(o, slots, full, empty, n, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    for i in range(n):
        tle.gpu.barrier_wait(full[i % S], i // S)
        x = slots[i % S].load()
        tle.gpu.barrier_arrive(empty[i % S], 1, i // S)
        tl.store(o + i * M * N + at, x + x)


@triton.jit
def fetched(x_desc, o, n, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr, WARPS: tl.constexpr):
    """Twice the blocks of x, which a region of a worker copies by the kernel's descriptor."""
    slots = tle.gpu.alloc([S, M, N], x_desc.dtype)
    full, empty = tle.gpu.alloc_barriers(S), tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (double_blocks, (o, slots, full, empty, n, M, N, S)),
            (fetch_blocks, (x_desc, slots, full, empty, n, M, N, S)),
        ],
        [WARPS],
    )


# --- TileLang kernels between Triton code ----------------------------------------------------------------------------


@triton.jit
def bring_slots(x, slots, empty, full, n, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    for i in range(n):
        tle.gpu.barrier_wait(empty[i % S], i // S)
        slots[i % S].store(tl.load(x + i * M * N + at))
        tle.gpu.barrier_arrive(full[i % S], 1, i // S)


@triton.jit
def double_slots(slots, full, doubled, n, DOUBLE: tl.constexpr, S: tl.constexpr):
    for i in range(n):
        DOUBLE(slots[i % S], full=full[i % S], empty=doubled[i % S], use=i // S)


@triton.jit
def store_slots(y, slots, doubled, empty, n, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    for i in range(n):
        tle.gpu.barrier_wait(doubled[i % S], i // S)
        tile = slots[i % S].load()
        tle.gpu.barrier_arrive(empty[i % S], 1, i // S)
        tl.store(y + i * M * N + at, tile)


@triton.jit
def doubled_by_worker(
    x, y, n, DOUBLE: tl.constexpr, ARRIVALS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr
):
    """Twice the tiles of x: a worker brings them, a region of another doubles them, the kernel's own warps store."""
    slots = tle.gpu.alloc([S, M, N], tl.float32, nv_mma_shared_layout=False)
    full, doubled = tle.gpu.alloc_barriers(S), tle.gpu.alloc_barriers(S, ARRIVALS)
    empty = tle.gpu.alloc_barriers(S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (store_slots, (y, slots, doubled, empty, n, M, N, S)),
            (bring_slots, (x, slots, empty, full, n, M, N, S)),
            (double_slots, (slots, full, doubled, n, DOUBLE, S)),
        ],
        [2, 4],
    )


@triton.jit
def copy_part(x, y, full, COPY: tl.constexpr):
    COPY(x, y, full=full)
    tle.gpu.barrier_wait(full, 0)


@triton.jit
def copied_twice(x, y, COPY: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Two partitions of four warps copy a tile each, by shared memory that each region asks for."""
    full = tle.gpu.alloc_barriers(2, 128)
    tle.gpu.warp_specialize(
        [(copy_part, (x, y, full[0], COPY)), (copy_part, (x + M * N, y + M * N, full[1], COPY))], [4]
    )


# names of tests.adapters.tilelang.barrier_kernels, arrivals, routes
DOUBLERS = [
    ("every_thread_arrives", 128, "linked"),
    ("every_thread_arrives", 128, "traced"),
    ("one_thread_arrives", 1, "linked"),
    ("one_thread_arrives", 1, "traced"),
    ("own_barrier_too", 128, "linked"),
    ("wait_in_loop", 128, "traced"),
]
