import triton
import triton.language as tl

import tle_raw.language as tle


@triton.jit
def kernel(w0, p1, p2, w3, p4, p5, o0, o1, o2, o3, o4, n, s):
    pid = tl.program_id(0)
    u1 = tle.gpu.alloc([32], tl.int32)
    v2 = tl.load(p1 + pid * 32 + tl.arange(0, 32))
    u1.store(v2)
    u3 = tle.gpu.alloc([16], tl.int32, alias=u1, alias_offset_bytes=0)
    v4 = tl.load(p2 + pid * 16 + tl.arange(0, 16), cache_modifier=".cg")
    u3.store(v4)
    v5 = u3.load()
    v6 = u1.load()
    u7 = u3.subslice(0, 8)
    v8 = u7.load()
    u9 = tle.gpu.alloc([64, 16], tl.float16)
    v10 = tl.load(p4 + pid * 1024 + tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :])
    u9.store(v10)
    tl.store(
        tle.gpu.local_ptr(
            u9,
            (
                (tl.arange(0, 64))[:, None],
                (tl.arange(0, 16))[None, :],
            ),
        ),
        v10,
        mask=(tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :]) < n,
    )
    v11 = tl.load(
        tle.gpu.local_ptr(
            u9,
            (
                (tl.arange(0, 64))[:, None],
                (tl.arange(0, 16))[None, :],
            ),
        )
    )
    u12 = u7.reshape([2, 4])
    v13 = tl.load(p5 + pid * 8 + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :])
    tle.local_store(u12, v13)
    v14 = u12.load()
    tl.store(o0 + pid * 16 + tl.arange(0, 16), v5)
    tl.store(o1 + pid * 32 + tl.arange(0, 32), v6)
    tl.store(o2 + pid * 8 + tl.arange(0, 8), v8)
    tl.store(o3 + pid * 1024 + tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :], v11)
    tl.store(
        o4 + pid * 8 + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :],
        v14,
        mask=(tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]) < n,
    )


CASE = {
    "arrays": {
        "w0": {"dtype": "int32", "size": 32, "fill": "zero", "seed": 0, "skip": 0},
        "p1": {"dtype": "int32", "size": 32, "fill": "plain", "seed": 60, "skip": 0},
        "p2": {"dtype": "int32", "size": 16, "fill": "plain", "seed": 17, "skip": 0},
        "w3": {"dtype": "float16", "size": 1024, "fill": "zero", "seed": 0, "skip": 0},
        "p4": {"dtype": "float16", "size": 1024, "fill": "plain", "seed": 25, "skip": 0},
        "p5": {"dtype": "int32", "size": 8, "fill": "plain", "seed": 93, "skip": 0},
        "o0": {"dtype": "int32", "size": 16, "fill": "zero", "seed": 0, "skip": 0},
        "o1": {"dtype": "int32", "size": 32, "fill": "zero", "seed": 0, "skip": 0},
        "o2": {"dtype": "int32", "size": 8, "fill": "zero", "seed": 0, "skip": 0},
        "o3": {"dtype": "float16", "size": 1024, "fill": "zero", "seed": 0, "skip": 0},
        "o4": {"dtype": "int32", "size": 8, "fill": "plain", "seed": 0, "skip": 0},
    },
    "scalars": {"n": 31, "s": 1.5},
    "grid": (1,),
    "tolerances": {"o0": 0.0, "o1": 0.0, "o2": 0.0, "o3": 0.0, "o4": 0.0},
    "numpy": False,
    "plain": "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def kernel(w0, p1, p2, w3, p4, p5, o0, o1, o2, o3, o4, n, s):\n"
    "    pid = tl.program_id(0)\n"
    "    u1 = w0 + pid * 32\n"
    "    v2 = tl.load(p1 + pid * 32 + tl.arange(0, 32))\n"
    "    tl.store(u1 + tl.arange(0, 32) * 1, v2)\n"
    "    u3 = (u1 + 0).to(tl.pointer_type(tl.int32), bitcast=True)\n"
    '    v4 = tl.load(p2 + pid * 16 + tl.arange(0, 16), cache_modifier=".cg")\n'
    "    tl.store(u3 + tl.arange(0, 16) * 1, v4)\n"
    "    v5 = tl.load(u3 + tl.arange(0, 16) * 1)\n"
    "    v6 = tl.load(u1 + tl.arange(0, 32) * 1)\n"
    "    u7 = u3 + 0\n"
    "    v8 = tl.load(u7 + tl.arange(0, 8) * 1)\n"
    "    u9 = w3 + pid * 1024\n"
    "    v10 = tl.load(p4 + pid * 1024 + tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :])\n"
    "    tl.store(u9 + tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :] * 1, v10)\n"
    "    tl.store(u9 + ((tl.arange(0, 64))[:, None]) * 16 + ((tl.arange(0, 16))[None, :]) * 1, v10, "
    "mask=(tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :]) < n)\n"
    "    v11 = tl.load(u9 + ((tl.arange(0, 64))[:, None]) * 16 + ((tl.arange(0, 16))[None, :]) * 1)\n"
    "    u12 = u7\n"
    "    v13 = tl.load(p5 + pid * 8 + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :])\n"
    "    tl.store(u12 + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :] * 1, v13)\n"
    "    v14 = tl.load(u12 + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :] * 1)\n"
    "    tl.store(o0 + pid * 16 + tl.arange(0, 16), v5)\n"
    "    tl.store(o1 + pid * 32 + tl.arange(0, 32), v6)\n"
    "    tl.store(o2 + pid * 8 + tl.arange(0, 8), v8)\n"
    "    tl.store(o3 + pid * 1024 + tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :], v11)\n"
    "    tl.store(o4 + pid * 8 + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :], v14, "
    "mask=(tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]) < n)\n",
}
