"""How racecheck sees the way in which Triton starts specialised warps: small kernels of the same pattern, in PTX.

    compute-sanitizer --tool racecheck python tests/gpu/worker_state.py [names of kernels]

Of a kernel with ``ttg.warp_specialize`` the warps of workers run a loop. At its head they wait at barrier 1 of the
whole block, read a byte of shared memory that says which partition a warp is to run, and wait there again. The kernel's
own warps write these bytes in front of the first barrier, and behind the third one, at which a partition ends::

    own warps                     workers
    write state                   head:
    barrier 1          (A)          barrier 1        (A)
                                    read state
    barrier 1          (B)          barrier 1        (B)
    ...                             ...
    barrier 1          (C)          barrier 1        (C)
    write state: end              goto head
    barrier 1          (A)

Every write and read of a byte has a barrier of all threads in between. The kernels below differ in how that barrier is
spelled; those whose names begin with ``wrong`` leave one out, and are to be found.
"""

from __future__ import annotations

import ctypes
import sys

import torch

_HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry {name}(.param .u64 p)
.reqntid 256
{{
.reg .pred %p<8>;
.reg .b32 %r<16>;
.reg .b64 %rd<8>;
.reg .b16 %h<4>;
.shared .align 16 .b8 state[16];
ld.param.u64 %rd1, [p];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
shr.u32 %r2, %r1, 5;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
mov.u32 %r3, state;
and.b32 %r4, %r2, 3;
add.u32 %r5, %r3, %r4;
setp.ge.u32 %p1, %r2, 4;
mov.u32 %r9, 0;
@%p1 bra WORKER;
"""
_TAIL = "}\n"


def _round(barrier: str, end: str, write: str, read: str, left_out: str, more: str) -> str:
    """The protocol above; ``left_out`` is the barrier that is missing, A, B or C, on both sides."""
    own = {name: "" if name in left_out else barrier for name in "ABC"}
    return f"""
mov.u32 %r6, 33554689;
{write}
{own["A"]}
{own["B"]}
{own["C"]}
mov.u32 %r6, {end};
{write}
{own["A"]}
bra.uni OUT;
WORKER:
{more}
{own["A"]}
{read}
setp.eq.u32 %p2, %r7, 3;
@%p2 bra OUT;
add.u32 %r9, %r9, %r7;
{own["B"]}
{own["C"]}
bra.uni WORKER;
OUT:
st.global.u32 [%rd4], %r9;
ret;
"""


_ALL_WRITE = "st.shared.b32 [%r3], %r6;"
_ONE_WRITES = "setp.eq.u32 %p3, %r1, 0;\n@%p3 st.shared.b32 [%r3], %r6;"
_BYTE = "ld.shared.u8 %r7, [%r5];"
_WORD = "ld.shared.u32 %r8, [%r3];\nshl.b32 %r10, %r4, 3;\nshr.u32 %r7, %r8, %r10;\nand.b32 %r7, %r7, 255;"
_END = 50529027  # 3 in each byte: there is nothing left to do


def _kernel(barrier: str, *, write: str = _ALL_WRITE, read: str = _BYTE, left_out: str = "", more: str = "") -> str:
    return _round(barrier, str(_END), write, read, left_out, more)


KERNELS = {
    "as_triton": _kernel("barrier.sync 1;"),
    "with_count": _kernel("barrier.sync 1, 256;"),
    "aligned": _kernel("bar.sync 1;"),
    "aligned_with_count": _kernel("bar.sync 1, 256;"),
    "barrier_0": _kernel("barrier.sync 0;"),
    "syncthreads": _kernel("bar.sync 0;"),
    "one_writes": _kernel("barrier.sync 1;", write=_ONE_WRITES),
    "words": _kernel("barrier.sync 1;", read=_WORD),
    "words_by_one": _kernel("barrier.sync 1;", write=_ONE_WRITES, read=_WORD),
    "words_by_one_syncthreads": _kernel("bar.sync 0;", write=_ONE_WRITES, read=_WORD),
    "wrong_without_a": _kernel("barrier.sync 1;", left_out="A"),
    "wrong_without_b_and_c": _kernel("barrier.sync 1;", left_out="BC"),
}
EXPECTED = [0] * 128 + [byte for byte in (1, 1, 0, 2) for _ in range(32)]


def check(driver: ctypes.CDLL, name: str) -> str:
    """Run one kernel ten times; what came of it."""
    text = _HEAD.format(name=name) + KERNELS[name] + _TAIL
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    log = ctypes.create_string_buffer(4096)
    options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
    status = driver.cuModuleLoadDataEx(ctypes.byref(module), text.encode(), 2, options, values)
    if status:
        return f"not loaded: {status} {log.value.decode()}"
    driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
    out = torch.zeros(256, dtype=torch.int32, device="cuda")
    wrong = 0
    for _ in range(10):
        out.fill_(-1)
        pointer = ctypes.c_uint64(out.data_ptr())
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = driver.cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, None)
        torch.cuda.synchronize()
        wrong += status != 0 or out.tolist() != EXPECTED
    return "right" if not wrong else f"wrong {wrong} of 10 times"


def main(names: list[str]) -> None:
    torch.zeros(1, device="cuda")
    driver = ctypes.CDLL("libcuda.so.1")
    for name in names or [name for name in KERNELS if not name.startswith("wrong")]:
        print(f"{name}: {check(driver, name)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
