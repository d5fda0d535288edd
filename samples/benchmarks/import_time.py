"""Milliseconds that `import tle_raw` takes beyond Triton's own import. Needs no GPU.

Triton imports the CPU backend of tle_raw by itself, as it does with every installed backend. So Triton alone is one
that is told to look at its own backends only. Each figure is a median over fresh processes, the two kinds alternating,
whose files are in the page cache.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys

import measure

GOAL_MS = 100
SCRIPT = """
import json, time
start = time.perf_counter(); import triton, triton.language; middle = time.perf_counter()
import tle_raw; end = time.perf_counter()
@tle_raw.dialect("cuda", source="__device__ float half_of(float x) { return x / 2; }")
def half_of(x: tle_raw.Element["f32"]) -> tle_raw.Element["f32"]: ...
first = time.perf_counter()
print(json.dumps([1e3 * (middle - start), 1e3 * (end - middle), 1e3 * (first - middle)]))
"""


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    alone, with_ours = [], []
    for _ in range(5 if options.quick else 25):
        alone.append(_run({"TRITON_BACKENDS_IN_TREE": "1"}))
        with_ours.append(_run({}))
    triton_ms = statistics.median(run[0] for run in alone[2:])
    rows = []
    for text, last in (("import tle_raw beyond Triton", 1), ("the same and the first declaration of a fragment", 2)):
        values = sorted(run[0] + run[last] - triton_ms for run in with_ours[2:])
        middle, quarter = statistics.median(values), len(values) // 4
        noise = (values[-1 - quarter] - values[quarter]) / abs(middle) / 2
        goal = GOAL_MS if last == 1 else None
        rows.append(measure.Row(text, middle, "ms", goal, False, {"triton ms": triton_ms}, noise))
    measure.report("import time", rows, options)


def _run(environment: dict[str, str]) -> list[float]:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    if run.returncode != 0:
        raise SystemExit(run.stderr)
    return list(json.loads(run.stdout))


if __name__ == "__main__":
    main()
