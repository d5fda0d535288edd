"""Program 02, attention: a whole cuTile kernel launched through Triton, with the arguments of ``ct.launch``."""

import sys
from pathlib import Path

import triton

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("cuda.tile", "cutile")
import cuda.tile as ct  # noqa: E402

Int = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
LOG2_E = 1.4426950408889634


@ct.kernel
def attention(Q, K, V, OUT, scale: float, tm: Int, tn: Int, D: Int):
    i, head = ct.bid(0), ct.bid(1)
    rows = i * tm + ct.arange(tm, dtype=ct.int32)[:, None]
    q = ct.load(Q, (head, i, 0), (1, tm, D), padding_mode=ZERO).reshape((tm, D))
    top = ct.full((tm, 1), -1e30, ct.float32)
    total, acc = ct.zeros((tm, 1), ct.float32), ct.zeros((tm, D), ct.float32)
    for j in range(ct.minimum(ct.num_tiles(K, axis=1, shape=(1, tn, D)), ct.cdiv((i + 1) * tm, tn))):
        k = ct.load(K, (head, 0, j), (1, D, tn), order=(0, 2, 1), padding_mode=ZERO).reshape((D, tn))
        scores = ct.mma(q, k, ct.zeros((tm, tn), ct.float32)) * (scale * LOG2_E)
        scores = ct.where(j * tn + ct.arange(tn, dtype=ct.int32)[None, :] <= rows, scores, -1e30)
        higher = ct.maximum(top, ct.max(scores, axis=1, keepdims=True))
        weights, faded = ct.exp2(scores - higher), ct.exp2(top - higher)
        total = total * faded + ct.sum(weights, axis=1, keepdims=True)
        v = ct.load(V, (head, j, 0), (1, tn, D), padding_mode=ZERO).reshape((tn, D))
        acc = ct.mma(ct.astype(weights, v.dtype), v, acc * faded)
        top = higher
    ct.store(OUT, (head, i, 0), ct.astype(acc / total, OUT.dtype).reshape((1, tm, D)))


whole = tle_raw.fragment(attention).as_kernel()
WIDTH, TILES = 64, (64, 32)


def compile_for(target):
    import torch

    q = torch.empty(16, 4096, WIDTH, dtype=torch.float16)
    return [whole.compile([q, q, q, torch.empty_like(q), WIDTH**-0.5, *TILES, WIDTH], target)]


def check():
    import torch

    device = common.device()
    for heads, rows in common.sizes(gpu=((4, 1000), (16, 4096)), cpu=((2, 70),), watched=((2, 150),)):
        q, k, v = (torch.randn(heads, rows, WIDTH, device=device).half() for _ in range(3))
        out = torch.empty_like(q)
        grid = (triton.cdiv(rows, TILES[0]), heads)
        compiled = whole[grid](q, k, v, out, WIDTH**-0.5, *TILES, WIDTH)
        want = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True)
        what = f"{heads} heads, {rows} rows"
        yield compiled, common.compare(what, out, want, relative=2**-10, absolute=2e-3)


if __name__ == "__main__":
    sys.exit(common.main("02 attention: a cuTile kernel launched through Triton", compile_for, check))
