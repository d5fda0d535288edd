"""The gradients of attention by specialised warps against plain Triton, cuDNN and FlashAttention, by torch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import measure
import torch
import triton_attention_backward as plain

BATCH, HEADS, LENGTH, DIM = 4, 16, 4096, 128
BUFFERS = 2
GOAL = 1.1  # over the best of plain Triton
# What is changed of the sample's blocks: of all kinds, and of those whose rows see the keys before them alone.
CONFIGS: dict[str, dict[str, Any]] = {"as it is": {}, "232 registers": {"REGISTERS": 232}}
SECTIONS = {f"sections of {heads} heads": {"SECTION": heads} for heads in (4, 16)}
# The names that results of torch's forward operators have as arguments of the backward ones.
RENAMED = {"output": "out", "rng_state": "philox_seed", "unused": "philox_offset"}


class Gradients:
    """Gradients of heads of 4096 rows."""

    def __init__(
        self, load: Callable[[], Any], dtype: torch.dtype, causal: bool, device: str = "cuda", length: int = LENGTH
    ) -> None:
        self.sample, self.dtype, self.causal, self.length = load(), dtype, causal, length
        kind = str(dtype).removeprefix("torch.")
        self.name = f"attention's gradients {BATCH}×{HEADS}×{length}×{DIM} {kind}" + (", causal" if causal else "")
        shape = BATCH, HEADS, length, DIM
        self.given = [tuple(torch.randn(shape, device=device).to(dtype) for _ in range(4)) for _ in range(BUFFERS)]
        self.forward = [self._forward(*given) for given in self.given]
        self.plain = [
            plain.Backward(q, k, v, o, lse * plain.LOG2E, do, causal)
            for (q, k, v, do), (o, lse) in zip(self.given, self.forward)
        ]
        self.found: tuple[Any, ...] = ()
        self.flops = 10 * BATCH * HEADS * length**2 * DIM / (2 if causal else 1)

    def _forward(self, q: Any, k: Any, v: Any, do: Any) -> tuple[Any, Any]:
        """The result and the logarithms of the sums, head by head in double precision."""
        o = torch.empty_like(q)
        lse = torch.empty(q.shape[:3], device=q.device, dtype=torch.float32)
        for place in torch.cartesian_prod(*map(torch.arange, q.shape[:2])).tolist():
            batch, head = place
            found = self.sample.expected(*(x[batch, head] for x in (q, k, v, do)), self.causal)
            o[batch, head], lse[batch, head] = found[0].to(self.dtype), found[1].float()
        return o, lse

    def ours(self, changed: dict[str, Any]) -> measure.Launch:
        blocks = self.sample.BLOCKS[DIM] | changed

        def launch(i: int) -> object:
            (q, k, v, do), (o, lse) = self.given[i], self.forward[i]
            kernel, *self.found = self.sample.launch(q, k, v, o, lse, do, self.causal, blocks)
            return kernel

        return launch

    def candidates(self) -> dict[str, measure.Launch]:
        return {name: self.ours(changed) for name, changed in (CONFIGS | (SECTIONS if self.causal else {})).items()}

    def all_candidates(self) -> Iterator[measure.Launch]:
        """Of both sides, each kernel by itself."""
        yield from self.candidates().values()
        yield from map(self.keys, (*plain.KEYS, *plain.ADDING))
        yield from map(self.queries, plain.QUERIES)

    def keys(self, config: tuple[Any, ...]) -> measure.Launch:
        """What plain Triton does for keys and values; for queries, too, where it adds."""

        def launch(i: int) -> object:
            kernel = self.plain[i].keys(*config)
            self.found = self.plain[i].dq, self.plain[i].dk, self.plain[i].dv
            return kernel

        return launch

    def queries(self, config: tuple[Any, ...]) -> measure.Launch:
        def launch(i: int) -> object:
            kernel = self.plain[i].queries(*config)
            self.found = self.plain[i].dq, self.plain[i].dk, self.plain[i].dv
            return kernel

        return launch

    def whole(self, *launches: measure.Launch) -> measure.Launch:
        """All of plain Triton's kernels, behind one another."""

        def launch(i: int) -> None:
            self.plain[i].prepare()
            for each in launches:
                each(i)

        return launch

    def torch(self, backend: str) -> measure.Launch:
        """torch's own operators, without autograd: a CUDA graph can hold them."""
        forward = getattr(torch.ops.aten, f"_scaled_dot_product_{backend}_attention").default
        backward = getattr(torch.ops.aten, f"_scaled_dot_product_{backend}_attention_backward").default
        options = {"attn_bias": None, "compute_log_sumexp": True, "dropout_p": 0.0, "is_causal": self.causal}
        names = [each.name for each in forward._schema.arguments]
        given = []
        for q, k, v, do in self.given:
            taken = {name: value for name, value in options.items() if name in names}
            results = forward(q, k, v, **taken)
            known = dict(zip((RENAMED.get(each.name, each.name) for each in forward._schema.returns), results))
            known |= options | {"grad_out": do, "query": q, "key": k, "value": v}
            given.append({e.name: known[e.name] for e in backward._schema.arguments if e.name in known})

        def launch(i: int) -> object:
            self.found = backward(**given[i])
            return self.found

        return launch

    def expected(self) -> list[Any]:
        """dq, dk and dv in double precision, head by head."""
        found = [
            torch.empty(self.given[0][0].shape, device=self.given[0][0].device, dtype=torch.float64) for _ in "qkv"
        ]
        for batch in range(BATCH):
            for head in range(HEADS):
                one = self.sample.expected(*(x[batch, head] for x in self.given[0]), self.causal)[2:]
                for place, value in zip(found, one):
                    place[batch, head] = value
        return found

    def check(self, name: str, launch: measure.Launch, expected: list[Any], parts: str = "qkv") -> None:
        """``parts`` : which gradients the launch gives."""
        launch(0)
        for part, got, want in zip("qkv", self.found, expected):
            if part in parts:
                measure.check(f"{name}: d{part}", got, want, 1e-3 if self.dtype == torch.float16 else 8e-3)


def rows_of(case: Gradients, quick: bool) -> list[measure.Row]:
    """The fastest of ours over the best of plain Triton's, over cuDNN's and over FlashAttention's."""
    expected = case.expected()

    def told(ms: float) -> str:
        return f"{case.flops / ms / 1e9:.1f}"

    def check(parts: str = "qkv") -> Callable[[str, measure.Launch], None]:
        return functools.partial(case.check, expected=expected, parts=parts)

    case.plain[0].prepare()
    case.plain[1].prepare()
    print(f"{case.name}: TFLOP/s of all that are right", flush=True)
    ours = measure.fastest(case.candidates(), check(), BUFFERS, told)
    print("plain Triton, milliseconds: keys and values; queries; all by additions", flush=True)
    keys = measure.fastest({str(c): case.keys(c) for c in plain.KEYS}, check("kv"), BUFFERS)
    queries = measure.fastest({str(c): case.queries(c) for c in plain.QUERIES}, check("q"), BUFFERS)
    adding = measure.fastest({str(c): case.whole(case.keys(c)) for c in plain.ADDING}, check(), BUFFERS)
    sides = {
        f"Triton: keys {keys[0]}, queries {queries[0]}": case.whole(keys[1], queries[1]),
        f"Triton: additions {adding[0]}": adding[1],
    }
    best = measure.fastest(sides, check(), BUFFERS, told)
    others: dict[str, measure.Launch] = {}
    for name, backend in {"cuDNN": "cudnn", "flash": "flash"}.items():
        try:
            others[name] = case.torch(backend)
            check()(name, others[name])
        except (RuntimeError, TypeError, SystemExit) as error:
            print(f"  {name}: {str(error)[:150]}", flush=True)
            others.pop(name, None)
    rows = []
    for name, side in ({"Triton": best[1]} | others).items():
        times, noise = measure.compare({"ours": ours[1], name: side}, BUFFERS, quick)
        speed = {f"{each} TFLOP/s": case.flops / ms / 1e9 for each, ms in times.items()}
        goal = GOAL if name == "Triton" and case.dtype == torch.float16 and not case.causal else None
        note = f"{ours[0]}; {best[0]}" if name == "Triton" else ours[0]
        what = f"{case.name}: specialised warps over {name}"
        rows.append(measure.Row(what, times[name] / times["ours"], "x", goal, True, speed, noise, note))
    return rows


def makers(load: Callable[[], Any], device: str = "cuda", length: int = LENGTH) -> list[Callable[[], Gradients]]:
    """What makes each case; ``load`` gives a new copy of the sample."""
    kinds = [(torch.float16, False), (torch.float16, True), (torch.bfloat16, False), (torch.bfloat16, True)]
    return [functools.partial(Gradients, load, *kind, device, length) for kind in kinds]
