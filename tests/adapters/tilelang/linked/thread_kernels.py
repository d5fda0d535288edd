"""TileLang kernels that say what each thread does: by thread indices, warps, barriers and copies of their own."""

import tilelang.language as T


def mirrored(blocks=3, threads=128, dtype="float32"):
    """Each block's elements in reverse, by way of shared memory; a block's number is added."""

    @T.prim_func
    def mirrored(A: T.Tensor((blocks, threads), dtype), B: T.Tensor((blocks, threads), dtype)):
        with T.Kernel(blocks, threads=threads) as bx:
            tx = T.get_thread_binding()
            s = T.alloc_shared((threads,), dtype)
            s[tx] = A[bx, tx]
            T.sync_threads()
            B[bx, tx] = s[threads - 1 - tx]

    return mirrored


def scaled(dtype="float16", threads=64):
    """As many elements as the call says, each by a thread of its own, in float32."""
    n = T.dynamic("n")

    @T.prim_func
    def scaled(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), by: T.float32):
        with T.Kernel(T.ceildiv(n, threads), threads=threads) as bx:
            i = bx * threads + T.get_thread_binding()
            if i < n:
                B[i] = T.cast(T.cast(A[i], "float32") * by, dtype)

    return scaled


def warp_sums(rows=5, threads=96, dtype="float32"):
    """A row's sum over each warp, by shuffles in two ways and by TileLang's own reduction; and its largest."""
    warps = threads // 32

    @T.prim_func
    def warp_sums(A: T.Tensor((rows, threads), dtype), S: T.Tensor((rows, warps, 4), dtype)):
        with T.Kernel(rows, threads=threads) as bx:
            tx = T.get_thread_binding()
            down = T.alloc_var(dtype, A[bx, tx])
            across = T.alloc_var(dtype, A[bx, tx])
            for step in T.serial(5):
                down += T.shfl_down(down, 16 >> step)
                across += T.shfl_xor(across, 16 >> step)
            if tx % 32 == 0:
                S[bx, tx // 32, 0] = down
            if tx % 32 == 7:
                S[bx, tx // 32, 1] = across
            total = T.warp_reduce_sum(A[bx, tx])
            largest = T.warp_reduce_max(A[bx, tx])
            if tx % 32 == 31:
                S[bx, tx // 32, 2] = total
                S[bx, tx // 32, 3] = largest

    return warp_sums


def votes(threads=64):
    """Of each thread: who of its warp is positive, whether any or all are, and one lane of the warp."""

    @T.prim_func
    def votes(A: T.Tensor((threads,), "float32"), V: T.Tensor((threads, 4), "int32")):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            positive = A[tx] > 0.0
            V[tx, 0] = T.cast(T.ballot_sync(positive), "int32")
            V[tx, 1] = T.cast(T.any_sync(positive), "int32")
            V[tx, 2] = T.cast(T.all_sync(positive), "int32")
            V[tx, 3] = T.syncthreads_count(positive)

    return votes


def pipeline(tiles=7, stages=3, threads=64, dtype="float32"):
    """Sums of tiles that are copied in the background, some steps ahead, and waited for by group."""

    @T.prim_func
    def pipeline(A: T.Tensor((tiles, threads * 4), dtype), B: T.Tensor((threads * 4,), dtype)):
        with T.Kernel(1, threads=threads):
            tx = T.get_thread_binding()
            ring = T.alloc_shared((stages, threads * 4), dtype)
            total = T.alloc_local((4,), dtype)
            for j in T.serial(4):
                total[j] = 0
            for k in T.serial(stages - 1):
                T.ptx_cp_async(T.access_ptr(ring[k, tx * 4], "w"), T.access_ptr(A[k, tx * 4], "r"), 4)
                T.ptx_commit_group()
            for k in T.serial(tiles):
                T.ptx_wait_group(stages - 2)
                T.sync_threads()
                for j in T.serial(4):
                    total[j] += ring[k % stages, (tx * 4 + j + 5) % (threads * 4)]
                if k + stages - 1 < tiles:
                    T.ptx_cp_async(
                        T.access_ptr(ring[(k + stages - 1) % stages, tx * 4], "w"),
                        T.access_ptr(A[k + stages - 1, tx * 4], "r"),
                        4,
                    )
                T.ptx_commit_group()
            for j in T.serial(4):
                B[(tx * 4 + j + 5) % (threads * 4)] = total[j]

    return pipeline


def handed_over(tiles=9, stages=2, dtype="float32"):
    """A warp fills slots, another one empties them; they meet at barriers in shared memory."""

    @T.prim_func
    def handed_over(A: T.Tensor((tiles, 32), dtype), B: T.Tensor((tiles, 32), dtype)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            ring = T.alloc_shared((stages, 32), dtype)
            full = T.alloc_barrier([32] * stages)
            empty = T.alloc_barrier([32] * stages)
            if tx < 32:
                for k in T.serial(tiles):
                    T.mbarrier_wait_parity(empty[k % stages], (k // stages % 2) ^ 1)
                    ring[k % stages, tx] = A[k, tx]
                    T.mbarrier_arrive(full[k % stages])
            else:
                for k in T.serial(tiles):
                    T.mbarrier_wait_parity(full[k % stages], k // stages % 2)
                    B[k, tx - 32] = ring[k % stages, 63 - tx] + 1.0
                    T.mbarrier_arrive(empty[k % stages])

    return handed_over


def shared(n=64, first=0):
    """Each thread reads what it has put into shared memory; those before ``first`` have put nothing there."""

    @T.prim_func
    def shared(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            s = T.alloc_shared((n,), "float32")
            if tx >= first:
                s[tx] = A[tx]
            T.sync_threads()
            B[tx] = s[tx]  # read

    return shared
