"""Program 03, the router of a mixture of experts: two TileLang kernels and Triton code between them, in one launch.

TileLang alone launches twice, because each of the two is a kernel of its own: the product that scores each token for
each expert, then the choice of the best experts of each token, which reads the scores again. To fuse them one would
write a third kernel. As regions they are called one after the other: the scores are a block tensor that never leaves
the registers, and Triton adds the bias between them and makes weights of the chosen scores behind them.
"""

import sys
from functools import partial
from pathlib import Path

import triton
import triton.language as tl

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import common

common.require("tilelang", "tilelang")
import tilelang.language as T  # noqa: E402

DIM, EXPERTS, CHOSEN, TOKENS = 1024, 64, 8, 64  # TOKENS: of one block


def score(dim=DIM, experts=EXPERTS, rows=TOKENS, depth=64):
    tokens = T.dynamic("tokens")

    @T.prim_func
    def score(
        X: T.Tensor((tokens, dim), "float16"),
        W: T.Tensor((dim, experts), "float16"),
        Scores: T.Tensor((tokens, experts), "float32"),
    ):
        with T.Kernel(T.ceildiv(tokens, rows), threads=128) as bx:
            x = T.alloc_shared((rows, depth), "float16")
            w = T.alloc_shared((depth, experts), "float16")
            scores = T.alloc_fragment((rows, experts), "float32")
            T.clear(scores)
            for k in T.Pipelined(dim // depth, num_stages=3):
                T.copy(X[bx * rows, k * depth], x)
                T.copy(W[k * depth, 0], w)
                T.gemm(x, w, scores)
            T.copy(scores, Scores[bx * rows, 0])

    return score


def choose(experts=EXPERTS, chosen=CHOSEN, rows=TOKENS):
    """The largest of each row, in falling order; of equal ones the first comes first."""
    tokens = T.dynamic("tokens")

    @T.prim_func
    def choose(
        Scores: T.Tensor((tokens, experts), "float32"),
        Values: T.Tensor((tokens, chosen), "float32"),
        Places: T.Tensor((tokens, chosen), "int32"),
    ):
        with T.Kernel(T.ceildiv(tokens, rows), threads=128) as bx:
            scores = T.alloc_fragment((rows, experts), "float32")
            where = T.alloc_fragment((rows, experts), "int32")
            value = T.alloc_fragment((rows,), "float32")
            place = T.alloc_fragment((rows,), "int32")
            values = T.alloc_fragment((rows, chosen), "float32")
            places = T.alloc_fragment((rows, chosen), "int32")
            T.copy(Scores[bx * rows, 0], scores)
            T.clear(values)
            T.clear(places)
            for k in T.serial(chosen):
                T.reduce_max(scores, value, dim=1)
                for i, j in T.Parallel(rows, experts):
                    where[i, j] = T.if_then_else(scores[i, j] == value[i], j, experts)
                T.reduce_min(where, place, dim=1)
                for i, j in T.Parallel(rows, chosen):
                    values[i, j] = T.if_then_else(j == k, value[i], values[i, j])
                    places[i, j] = T.if_then_else(j == k, place[i], places[i, j])
                for i, j in T.Parallel(rows, experts):
                    scores[i, j] = T.if_then_else(j == place[i], -T.infinity("float32"), scores[i, j])
            T.copy(values, Values[bx * rows, 0])
            T.copy(places, Places[bx * rows, 0])

    return choose


scores_of = tle_raw.fragment(score(), tiles=["Scores"])
best_of = tle_raw.fragment(choose(), tiles=["Scores", "Values", "Places"])


@triton.jit
def route(
    x_ptr, w_ptr, bias_ptr, weights_ptr, places_ptr, tokens,
    EXPERTS: tl.constexpr, CHOSEN: tl.constexpr, TOKENS: tl.constexpr,
):  # fmt: skip
    scores = scores_of(x_ptr, w_ptr, tokens)
    scores += tl.load(bias_ptr + tl.arange(0, EXPERTS))[None, :]
    values, places = best_of(scores, tokens)
    weights = tl.exp(values - tl.max(values, 1)[:, None])
    weights /= tl.sum(weights, 1)[:, None]
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)[:, None]
    at = token * CHOSEN + tl.arange(0, CHOSEN)[None, :]
    tl.store(weights_ptr + at, weights, token < tokens)
    tl.store(places_ptr + at, places, token < tokens)


CONSTANTS = {"EXPERTS": EXPERTS, "CHOSEN": CHOSEN, "TOKENS": TOKENS}


def launch(x, w, bias, weights, places):
    return route[(triton.cdiv(len(x), TOKENS),)](x, w, bias, weights, places, len(x), **CONSTANTS)


def compile_for(target):
    types = {"x_ptr": "*fp16", "w_ptr": "*fp16", "bias_ptr": "*fp32", "weights_ptr": "*fp32", "places_ptr": "*i32"}
    return [common.compile_ahead(route, target, types | {"tokens": "i32"}, CONSTANTS)]


def tilelang_alone():
    """The same two kernels, without what Triton adds to them."""
    import tilelang

    first, second = tilelang.compile(score()), tilelang.compile(choose())

    def launches(x, w, scores, values, places):
        first(x, w, scores)
        second(scores, values, places)

    return launches


def check():
    import torch

    device = common.device()
    for tokens in common.sizes(gpu=(1, 1000, 65536), cpu=(1, 70), watched=(1, 300)):
        x, bias = torch.randn(tokens, DIM, device=device).half(), torch.randn(EXPERTS, device=device)
        w = (torch.randn(DIM, EXPERTS, device=device) / DIM**0.5).half()
        weights = torch.empty(tokens, CHOSEN, device=device)
        places = torch.empty(tokens, CHOSEN, device=device, dtype=torch.int32)
        compiled = launch(x, w, bias, weights, places)
        scores = x.double() @ w.double() + bias.double()
        best = scores.topk(CHOSEN).values
        # By what they score: two sums closer than tensor cores add up may change places.
        chosen = scores.gather(1, places.long().clamp(0, EXPERTS - 1))
        yield compiled, common.compare(f"{tokens} tokens, chosen", chosen, best, absolute=1e-4)
        yield compiled, common.compare(f"{tokens} tokens, weights", weights, best.softmax(1), relative=2e-4)
    if common.can_compare():
        scores, values = torch.empty(tokens, EXPERTS, device=device), torch.empty_like(weights)
        two = partial(tilelang_alone(), x, w, scores, values, torch.empty_like(places))
        two()
        best = (x.double() @ w.double()).topk(CHOSEN).values
        yield compiled, common.compare("by TileLang alone", values, best, absolute=1e-4)
        one = partial(launch, x, w, bias, weights, places)
        common.show_times({"one launch": one, "TileLang alone, two launches": two})


if __name__ == "__main__":
    sys.exit(common.main("03 a router: two TileLang kernels and Triton code in one launch", compile_for, check))
