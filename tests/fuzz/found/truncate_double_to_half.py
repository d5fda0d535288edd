import triton
import triton.language as tl


@triton.jit
def kernel(p0, o0, n, s):
    pid = tl.program_id(0)
    v1 = tl.load(p0 + pid * 16 + tl.arange(0, 16))
    v2 = v1.to(tl.float16)
    tl.store(o0 + (pid * 16 + tl.arange(0, 16)) * 2, v2, mask=(tl.arange(0, 16)) < n)


CASE = {
    "arrays": {
        "p0": {"dtype": "float64", "size": 16, "fill": "special"},
        "o0": {"dtype": "float16", "size": 32, "fill": "plain"},
    },
    "scalars": {"n": 2, "s": 1.5},
    "grid": (1,),
    "tolerances": {"o0": 0.0},
    "numpy": False,
}
