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
spelled: none is reported. Those whose names begin with ``wrong`` leave something out, and are.

Those that begin with ``handed`` are the other pattern of partitions: words that one half of the block writes, and the
other reads behind a barrier with phases. Where each thread arrives at it, racecheck is content; where one arrives for
others that it has met at another barrier, it reports a race, which there is not.
"""

from __future__ import annotations

import ctypes
import sys

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
.shared .align 8 .b64 full;
.shared .align 16 .b32 words[128];
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
"""
_TAIL = "}\n"


def _round(barrier: str, end: str, write: str, read: str, left_out: str, more: str) -> str:
    """The protocol above; ``left_out`` is the barrier that is missing, A, B or C, on both sides."""
    own = {name: "" if name in left_out else barrier for name in "ABC"}
    return f"""
@%p1 bra WORKER;
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
_WORDS = """
setp.eq.u32 %p4, %r1, 0;
@%p4 mbarrier.init.shared::cta.b64 [full], {count};
bar.sync 0;
shl.b32 %r11, %r1, 2;
and.b32 %r11, %r11, 511;
mov.u32 %r12, words;
add.u32 %r12, %r12, %r11;
@%p1 bra READER;
{store}
{meet}
setp.eq.u32 %p4, %r1, 0;
{arrive}
{late}
bra.uni OUT;
READER:
wait:
mbarrier.test_wait.parity.shared::cta.b64 %p5, [full], 0;
@!%p5 bra wait;
ld.shared.u32 %r9, [%r12];
OUT:
st.global.u32 [%rd4], %r9;
ret;
"""
_ONE_ARRIVES = "@%p4 mbarrier.arrive.shared::cta.b64 _, [full];"
_EACH_ARRIVES = "mbarrier.arrive.shared::cta.b64 _, [full];"
_LAST_OF_WARP = "bar.warp.sync -1;\nand.b32 %r13, %r1, 31;\nsetp.eq.u32 %p4, %r13, 0;\n" + _ONE_ARRIVES
_STORE = "st.shared.u32 [%r12], %r1;"
_END = 50529027  # 3 in each byte: there is nothing left to do


def _kernel(barrier: str, *, write: str = _ALL_WRITE, read: str = _BYTE, left_out: str = "", more: str = "") -> str:
    return _round(barrier, str(_END), write, read, left_out, more)


def _handed(count: int, meet: str, arrive: str, *, late: str = "") -> str:
    """Words of 128 threads to the 128 others; ``late`` are stored behind the arrival."""
    store = "" if late else _STORE
    return _WORDS.format(count=count, store=store, meet=meet, arrive=arrive, late=late)


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
    "handed_by_one": _handed(1, "bar.sync 2, 128;", _ONE_ARRIVES),
    "handed_by_warps": _handed(4, "", _LAST_OF_WARP),
    "handed_by_each": _handed(128, "", _EACH_ARRIVES),
    "wrong_handed_before": _handed(128, "", _EACH_ARRIVES, late=_STORE),
}
STATES = [0] * 128 + [byte for byte in (1, 1, 0, 2) for _ in range(32)]
WORDS = [0] * 128 + [*range(128)]


class Driver:
    """CUDA's driver, with nothing between: what is watched starts in no time."""

    def __init__(self) -> None:
        self.library, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.out = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.out), ctypes.c_size_t(1024))

    def call(self, name: str, *arguments: object) -> None:
        """A function of the driver; an error ends the program."""
        status = getattr(self.library, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: {status}")

    def run(self, name: str, text: str) -> list[int]:
        """What the 256 threads of a kernel write."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), text.encode())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        found = (ctypes.c_int32 * 256)(*[-1] * 256)
        self.call("cuMemcpyHtoD_v2", self.out, found, ctypes.c_size_t(1024))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(self.out))
        self.call("cuLaunchKernel", function, 1, 1, 1, 256, 1, 1, 0, None, arguments, None)
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", found, self.out, ctypes.c_size_t(1024))
        return list(found)


def text_of(name: str) -> str:
    """The PTX of a kernel."""
    return _HEAD.format(name=name) + KERNELS[name] + _TAIL


def main(names: list[str]) -> None:
    driver = Driver()
    for name in names or [name for name in KERNELS if not name.startswith("wrong")]:
        expected = WORDS if "handed" in name else STATES
        wrong = sum(driver.run(name, text_of(name)) != expected for _ in range(5))
        print(f"{name}: {'right' if not wrong else f'wrong {wrong} of 5 times'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
