"""A kernel's source as code of this machine, by a C++ compiler alone: what is right."""

from __future__ import annotations

import subprocess

from tests.fuzz.whole_kernels.expressions import BLOCKS, THREADS
from tle_raw.adapters.cpp.toolchain import find_toolchain

NAME = "run"
SHIM = f"""
struct int2 {{ int x, y; }}; struct uint2 {{ unsigned x, y; }};
struct int4 {{ int x, y, z, w; }}; struct uint4 {{ unsigned x, y, z, w; }};
static inline uint2 make_uint2(unsigned a, unsigned b) {{ return {{a, b}}; }}
extern "C" {{
int tle_thread(); int tle_block(); void tle_barrier();
unsigned tle_shuffle(int how, unsigned value, int lane, int clamp); unsigned tle_ballot(int question);
}}
struct Place {{ int (*of)(); operator int() const {{ return of(); }} }};
static const struct {{ Place x; }} threadIdx{{{{tle_thread}}}}, blockIdx{{{{tle_block}}}};
static const struct {{ int x; }} blockDim{{{THREADS}}}, gridDim{{{BLOCKS}}};
#define __global__
#define __shared__ static
static inline int min(int a, int b) {{ return b < a ? b : a; }}
static inline int max(int a, int b) {{ return a < b ? b : a; }}
static inline int __ldg(const int* p) {{ return *p; }}
static inline int __popc(unsigned a) {{ return __builtin_popcount(a); }}
static inline unsigned __umulhi(unsigned a, unsigned b) {{ return ((unsigned long long)a * b) >> 32; }}
static inline unsigned __float_as_uint(float f) {{ return __builtin_bit_cast(unsigned, f); }}
static inline void __syncthreads() {{ tle_barrier(); }}
static inline unsigned __shfl_sync(unsigned, unsigned v, int lane) {{ return tle_shuffle(0, v, lane, 31); }}
static inline unsigned __shfl_up_sync(unsigned, unsigned v, int by) {{ return tle_shuffle(1, v, by, 0); }}
static inline unsigned __shfl_down_sync(unsigned, unsigned v, int by, int width = 32) {{
  return tle_shuffle(2, v, by, (32 - width) << 8 | 31);
}}
static inline unsigned __shfl_xor_sync(unsigned, unsigned v, int by) {{ return tle_shuffle(3, v, by, 31); }}
static inline unsigned __ballot_sync(unsigned, int question) {{ return tle_ballot(question != 0); }}
static inline int __any_sync(unsigned, int question) {{ return tle_ballot(question != 0) != 0; }}
static inline int __all_sync(unsigned, int question) {{ return tle_ballot(question != 0) == ~0u; }}
"""
ENTRY = """
extern "C" void run(const int* a, const short* b, const unsigned char* c, const long long* d, const float* x,
    const int2* v2, const int4* v4, const St* st, const Hf* h, unsigned* o, float* y, int n, int m, int s, int q,
    unsigned u0, unsigned u1, int wa, int w0, int w1, int w2, long long wc, float wf, void*, void*) {
  k(a, b, c, d, x, v2, v4, st, h, o, y, n, m, s, q, u0, u1, W{wa, {w0, w1, w2}, wc, wf});
}
"""
# Nothing that could change a float, and signed sums as they are: bounds see to it that none overflows.
FLAGS = ("-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing")


def host_code(text: str) -> str:
    """LLVM IR of this machine with a function ``run`` for one thread."""
    command = [*find_toolchain().clang.command, "-x", "c++", *FLAGS, "-S", "-emit-llvm", "-o", "-", "-"]
    done = subprocess.run(command, input=SHIM + text + ENTRY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr[-2000:])
    return done.stdout
