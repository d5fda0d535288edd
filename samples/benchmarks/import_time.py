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
import sys
print(json.dumps([1e3 * (middle - start), 1e3 * (end - middle), sum(m.startswith("tle_raw") for m in sys.modules)]))
"""


def main() -> None:
    options = measure.arguments(__doc__.splitlines()[0])
    runs = []
    for _ in range(5 if options.quick else 25):
        run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        runs.append(json.loads(run.stdout))
    triton_ms, tle_raw_ms, modules = (statistics.median(values) for values in zip(*runs[2:], strict=True))
    spread = (max(r[1] for r in runs[2:]) - min(r[1] for r in runs[2:])) / tle_raw_ms / 2
    row = measure.Row(
        "import tle_raw beyond Triton", tle_raw_ms, "ms", GOAL_MS, False, {"triton ms": triton_ms}, spread,
        f"{modules:.0f} modules of tle_raw",
    )  # fmt: skip
    measure.report("import time", [row], options)


if __name__ == "__main__":
    main()
