import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def kernel(w0, w1, o0, n, s):
    pid = tl.program_id(0)
    u2 = tle.gpu.alloc([2, 16, 32], tl.bfloat16, init_value=2)
    u3 = u2.slot(0)
    v4 = u3.load()
    tl.store(
        o0 + pid * 512 + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :],
        v4,
        mask=(tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]) < n,
    )


CASE = {
    "arrays": {
        "w0": {"dtype": "int8", "size": 16, "fill": "zero", "seed": 0, "skip": 0},
        "w1": {"dtype": "bfloat16", "size": 1024, "fill": "zero", "seed": 0, "skip": 0},
        "o0": {"dtype": "bfloat16", "size": 512, "fill": "plain", "seed": 0, "skip": 0},
    },
    "scalars": {"n": 2, "s": 1.5},
    "grid": (1,),
    "tolerances": {"o0": 0.0},
    "numpy": False,
    "plain": "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def kernel(w0, w1, o0, n, s):\n"
    "    pid = tl.program_id(0)\n"
    "    u1 = w0 + pid * 16\n"
    "    tl.store(u1 + 0 + tl.arange(0, 16) * 1, 0)\n"
    "    u2 = w1 + pid * 1024\n"
    "    tl.store(u2 + 0 + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :] * 1, 2)\n"
    "    tl.store(u2 + 512 + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :] * 1, 2)\n"
    "    u3 = u2 + (0) * 512\n"
    "    v4 = tl.load(u3 + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :] * 1)\n"
    "    tl.store(o0 + pid * 512 + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :], v4, "
    "mask=(tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]) < n)\n",
}
