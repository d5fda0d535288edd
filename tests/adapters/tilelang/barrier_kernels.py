"""TileLang kernels that wait for barriers of the Triton kernel and arrive at them, as doublers of `meeting_kernels`."""

from __future__ import annotations

import tilelang.language as T

import tle_raw

THREADS = 128


def every_thread_arrives(route=None):
    @tle_raw.dialect("tilelang", tiles=["b"], barriers=["full", "empty"], route=route)
    @T.prim_func
    def double(b: T.Tensor((16, 32), "float32"), use: T.int32):
        with T.Kernel(1, threads=THREADS) as _:
            full, empty = T.alloc_barrier(1), T.alloc_barrier(THREADS)
            T.mbarrier_wait_parity(full, use % 2)
            for i, j in T.Parallel(16, 32):
                b[i, j] = b[i, j] * 2.0
            T.barrier_arrive(empty)

    return double


def one_thread_arrives(route=None):
    @tle_raw.dialect("tilelang", tiles=["b"], barriers=["full", "empty"], route=route)
    @T.prim_func
    def double(b: T.Tensor((16, 32), "float32"), use: T.int32):
        with T.Kernel(1, threads=THREADS) as _:
            full, empty = T.alloc_barrier(1), T.alloc_barrier(1)
            T.barrier_wait(full, use % 2)
            for i, j in T.Parallel(16, 32):
                b[i, j] = b[i, j] * 2.0
            T.sync_threads()
            if T.get_thread_binding() == 0:
                T.mbarrier_arrive(empty)

    return double


def own_barrier_too(route=None):
    """It keeps a barrier of its own beside that of the caller."""

    @tle_raw.dialect("tilelang", tiles=["b"], barriers=["full", "empty"], route=route)
    @T.prim_func
    def double(b: T.Tensor((16, 32), "float32"), use: T.int32):
        with T.Kernel(1, threads=THREADS) as _:
            full, empty, own = T.alloc_barrier(1), T.alloc_barrier(THREADS), T.alloc_barrier(THREADS)
            T.mbarrier_wait_parity(full, use % 2)
            for i, j in T.Parallel(16, 32):
                b[i, j] = b[i, j] * 2.0
            T.barrier_arrive(own)
            T.barrier_wait(own, 0)
            T.barrier_arrive(empty)

    return double


def wait_in_loop(route=None):
    """Several uses of a barrier, in a loop of the region."""

    @tle_raw.dialect("tilelang", tiles=["b"], barriers=["full", "empty"], route=route)
    @T.prim_func
    def double(b: T.Tensor((16, 32), "float32"), use: T.int32):
        with T.Kernel(1, threads=THREADS) as _:
            full, empty = T.alloc_barrier(1), T.alloc_barrier(THREADS)
            for k in range(use, use + 1):
                T.mbarrier_wait_parity(full, k % 2)
                for i, j in T.Parallel(16, 32):
                    b[i, j] = b[i, j] * 2.0
                T.barrier_arrive(empty)

    return double


def copies_are_counted():
    """Each thread's copies in the background are an arrival when they are done; the region itself waits too."""

    @tle_raw.dialect("tilelang", barriers=["full"], route="linked")
    @T.prim_func
    def copied(x: T.Tensor((16, 32), "float32"), y: T.Tensor((16, 32), "float32")):
        with T.Kernel(1, threads=THREADS) as _:
            full, tile = T.alloc_barrier(THREADS), T.alloc_shared((16, 32), "float32")
            for i, j in T.Parallel(16, 8):  # four elements at once, from addresses that are multiples of 16 bytes
                T.ptx_cp_async(T.access_ptr(tile[i, j * 4], "w"), T.access_ptr(x[i, j * 4], "r"), 4)
            T.cp_async_barrier_noinc(full)
            T.barrier_wait(full, 0)
            T.copy(tile, y)

    return copied
