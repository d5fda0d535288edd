"""What tle_raw costs each launch of a plain Triton kernel, and what a region costs.

One process; batches of launches alternate between a plain kernel with Triton's hooks empty (as without tle_raw), the
same with tle_raw's hooks in place, and a kernel with a region. Figures are medians over the batches of processor
nanoseconds that the launching thread needs. Without a GPU (--compile-only) the launch itself does nothing: what
Triton does in Python remains.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import contextmanager

import measure

GOAL_US = 1.0
LAUNCHES, BATCHES = 100, 400


@contextmanager
def empty_hooks():
    """Triton's slots as they are when tle_raw was never imported."""
    from triton import knobs

    there = knobs.runtime.add_stages_inspection_hook, knobs.compilation.listener
    knobs.runtime.add_stages_inspection_hook = knobs.compilation.listener = None
    try:
        yield
    finally:
        knobs.runtime.add_stages_inspection_hook, knobs.compilation.listener = there


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    import torch

    if options.compile_only:
        import compile_only

        compile_only.install()
    import launch_kernels

    region, plain = launch_kernels.with_region(), launch_kernels.plain
    device = "cpu" if options.compile_only else "cuda"
    x, y = torch.randn(1024, device=device), torch.empty(1024, device=device)
    finish = (lambda: None) if options.compile_only else torch.cuda.synchronize

    def batch(kernel: object) -> float:
        start = time.thread_time_ns()
        for _ in range(LAUNCHES):
            kernel[(1,)](x, y, 7, N=1024)
        spent = (time.thread_time_ns() - start) / LAUNCHES
        finish()
        return spent

    def without_hooks() -> float:
        with empty_hooks():
            return batch(plain)

    sides: dict[str, Callable[[], float]] = {
        "plain": without_hooks,
        "hooked": lambda: batch(plain),
        "region": lambda: batch(region),
    }
    for run in sides.values():
        for _ in range(5):
            run()
        assert options.compile_only or torch.allclose(y, x + 7)
    found: dict[str, list[float]] = {name: [] for name in sides}
    for round_ in range(BATCHES // 10 if options.quick else BATCHES):
        for name in list(sides) if round_ % 2 else reversed(list(sides)):
            found[name].append(sides[name]())
    ns = {name: statistics.median(values) for name, values in found.items()}
    rows = [
        row("plain kernel, tle_raw in use: extra a launch", "hooked", ns, GOAL_US),
        # It looks at its fragment's files before each launch, which is worth something.
        row("kernel with a region: extra a launch", "region", ns, None),
    ]
    measure.report("launch overhead" + " (no GPU)" * options.compile_only, rows, options)


def row(text: str, side: str, ns: dict[str, float], goal: float | None) -> measure.Row:
    sides = {"plain ns": ns["plain"], f"{side} ns": ns[side]}
    return measure.Row(text, (ns[side] - ns["plain"]) / 1000, "us", goal, False, sides)


if __name__ == "__main__":
    main()
