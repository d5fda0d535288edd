"""Milliseconds that `import tle_raw` takes beyond Triton's own import. Needs no GPU.

Each figure is a median over fresh processes whose files are in the page cache.
"""

from __future__ import annotations

import json
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
    runs = []
    for _ in range(5 if options.quick else 25):
        run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        runs.append(json.loads(run.stdout))
    rows = []
    triton_ms = statistics.median(run[0] for run in runs[2:])
    for text, place in (("import tle_raw beyond Triton", 1), ("the same and the first declaration of a fragment", 2)):
        values = sorted(run[place] for run in runs[2:])
        middle, quarter = statistics.median(values), len(values) // 4
        noise = (values[-1 - quarter] - values[quarter]) / middle / 2
        goal = GOAL_MS if place == 1 else None
        rows.append(measure.Row(text, middle, "ms", goal, False, {"triton ms": triton_ms}, noise))
    measure.report("import time", rows, options)


if __name__ == "__main__":
    main()
