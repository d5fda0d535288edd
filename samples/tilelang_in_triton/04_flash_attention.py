"""Program 04, causal flash attention: a whole TileLang kernel becomes a Triton kernel by ``as_kernel()``.

The kernel is unedited, in another file. Called with its arrays it is launched over its own grid, by Triton's launcher,
from Triton's cache; arrays that do not fit are refused. A GPU takes the route that TileLang's own lowering goes, and
the one that is traced into Triton; both stand beside TileLang alone.
"""

import sys
from functools import partial
from pathlib import Path

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("tilelang", "tilelang")
attention = common.load("benchmarks/tilelang_kernels.py").attention

ROUTES = ("traced", "linked")


def kernel_of(shape, route):
    batch, length, heads, dim = shape
    return tle_raw.fragment(attention(batch, heads, length, dim, causal=True), route=route).as_kernel()


def compile_for(target):
    return [kernel_of((4, 1024, 16, 128), route).compile(target) for route in ROUTES]


def reference(q, k, v):
    """A head at a time: all at once are too many numbers of 64 bits."""
    import torch

    out = torch.empty_like(q, dtype=torch.float64)
    for batch in range(q.shape[0]):
        for head in range(q.shape[2]):
            query, key, value = (x[batch, :, head].double() for x in (q, k, v))
            scores = query @ key.T / query.shape[1] ** 0.5
            seen = torch.ones_like(scores).tril().bool()
            out[batch, :, head] = scores.masked_fill(~seen, float("-inf")).softmax(1) @ value
    return out


def check():
    import torch

    device = common.device()
    routes = common.sizes(gpu=ROUTES, cpu=ROUTES[:1])
    few = ((1, 64, 1, 64), (1, 128, 2, 32))
    for shape in common.sizes(gpu=((1, 64, 1, 64), (4, 2048, 8, 128)), cpu=few, watched=((1, 192, 2, 64),)):
        q, k, v = (torch.randn(shape, device=device).half() for _ in range(3))
        want, sides = reference(q, k, v), {}
        for route in routes:
            attend, out = kernel_of(shape, route), torch.empty_like(q)
            compiled = attend(q, k, v, out)
            # The weights of a row are rounded to half, and so is the result.
            what = f"{' × '.join(map(str, shape))}, {route}"
            yield compiled, common.compare(what, out, want, relative=2**-10, absolute=2e-3)
            sides[route] = partial(attend, q, k, v, out)
    if common.can_compare():
        import tilelang

        batch, length, heads, dim = shape
        alone, out = tilelang.compile(attention(batch, heads, length, dim, causal=True)), torch.empty_like(q)
        alone(q, k, v, out)
        yield compiled, common.compare("by TileLang alone", out, want, relative=2**-10, absolute=2e-3)
        common.show_times({**sides, "TileLang alone": partial(alone, q, k, v, out)})


if __name__ == "__main__":
    sys.exit(common.main("04 causal flash attention by TileLang, launched by Triton", compile_for, check))
