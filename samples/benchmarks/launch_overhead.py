"""What importing tle_raw costs each launch of a plain Triton kernel, and what a region costs.

Each figure is the median over fresh processes, alternating, of the median processor nanoseconds that the launching
thread needs for one launch. Without a GPU (--compile-only) the launch itself does nothing: what
Triton does in Python remains.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

import measure

GOAL_US = 1.0
MODES = ("plain", "imported", "declared", "region")
LAUNCHES, BATCHES = 200, 60


def one_process(mode: str, without_gpu: bool) -> float:
    """Nanoseconds a launch, in this process."""
    import torch
    import triton

    if without_gpu:
        import compile_only

        compile_only.install()
    device = "cpu" if without_gpu else "cuda"
    if mode != "plain":
        import tle_raw  # noqa: F401
    import launch_kernels

    kernel = launch_kernels.with_region() if mode in ("declared", "region") else None
    if mode != "region":
        kernel = launch_kernels.plain
    x, y = torch.randn(1024, device=device), torch.empty(1024, device=device)
    finish = (lambda: None) if without_gpu else torch.cuda.synchronize
    for _ in range(300):
        kernel[(1,)](x, y, 7, N=1024)
    finish()
    assert without_gpu or torch.allclose(y, x + 7)
    assert triton.__version__
    batches = []
    for _ in range(BATCHES):
        start = time.thread_time_ns()
        for _ in range(LAUNCHES):
            kernel[(1,)](x, y, 7, N=1024)
        batches.append((time.thread_time_ns() - start) / LAUNCHES)
        finish()
    return statistics.median(batches)


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--one":
        print(json.dumps(one_process(sys.argv[2], "--compile-only" in sys.argv)))
        return
    options = measure.arguments(__doc__.splitlines()[0])
    found: dict[str, list[float]] = {mode: [] for mode in MODES}
    for round_ in range(3 if options.quick else 7):
        for mode in MODES if round_ % 2 else reversed(MODES):
            command = [sys.executable, __file__, "--one", mode]
            command += ["--compile-only"] if options.compile_only else []
            run = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if run.returncode != 0:
                raise SystemExit(run.stderr)
            found[mode].append(json.loads(run.stdout.splitlines()[-1]))
    ns = {mode: statistics.median(values) for mode, values in found.items()}
    noise = max((max(v) - min(v)) / statistics.median(v) / 2 for v in found.values())
    names = {
        "imported": "plain kernel, tle_raw imported: extra a launch",
        "declared": "plain kernel, a fragment declared: extra",
        "region": "kernel with a region: extra a launch",
    }
    rows = []
    for mode, text in names.items():
        goal = GOAL_US if mode != "region" else None  # it looks at its fragment's files, which is worth something
        sides = {"plain ns": ns["plain"], f"{mode} ns": ns[mode]}
        rows.append(measure.Row(text, (ns[mode] - ns["plain"]) / 1000, "us", goal, False, sides, noise))
    measure.report("launch overhead" + " (no GPU)" * options.compile_only, rows, options)


if __name__ == "__main__":
    main()
