import triton
import triton.language as tl


@triton.jit
def kernel(p0, o0, n, s):
    pid = tl.program_id(0)
    v1 = tl.load(p0 + pid * 4 + tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :])
    v2 = tl.where(tl.abs(v1) < 4.0, v1, 0.5)
    v3 = tl.cumsum(v2, 0, reverse=True).to(tl.float16)
    mask = (tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :]) < n
    tl.store(o0 + pid * 4 + tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :], v3, mask=mask)


CASE = {
    "arrays": {
        "p0": {"dtype": "float16", "size": 4, "fill": "special", "seed": 0},
        "o0": {"dtype": "float16", "size": 4, "fill": "plain", "seed": 0},
    },
    "scalars": {"n": 2, "s": 1.5},
    "grid": (1,),
    "tolerances": {"o0": 0.01562511920928955},
    "numpy": False,
}
