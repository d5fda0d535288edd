"""Launches kernels of other packages as tle_raw and as nvcc compiled them: equal numbers first, then times.

    python tools/launch_cuda.py check|time PACK [--match vllm] [--out FILE] [--workers 3] [--seconds 100]

PACK is the archive that ``tools/pack_cuda.py`` wrote: both machine codes of each kernel. The arguments are those of
``tools/cuda_sweep/launches.txt``. ``check`` launches both sides with the same arguments and compares every array that
either has written; ``time`` measures those that passed, in bursts behind pauses, both sides in turn.

Kernels are launched in other processes: one that faults or hangs ends its own, and the next begins behind it. Every
result is a line of JSON in FILE at once.
"""

from __future__ import annotations

import argparse
import json
import math
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from cuda_sweep.launches import launches

MARK = "RESULT "
STUCK = 30.0  # seconds without a result: a new process imports torch first
MEAN, WORST = 1.0, 1.05  # the goals, of nvcc's time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "time"])
    parser.add_argument("pack", type=Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--out", type=Path, default=Path("launched.jsonl"))
    parser.add_argument("--json", type=Path, help="figures for samples/benchmarks/results.py")
    parser.add_argument("--checked", type=Path, help="the results of check: what is timed")
    parser.add_argument(
        "--skip", type=Path, help="earlier results: kernels that were right or timed there are left out"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=100, help="begin no kernel later than this")
    options = parser.parse_args()
    from cuda_sweep.pack import read_index

    wanted = [
        entry
        for entry in read_index(options.pack)
        if options.match in f"{entry['package']} {entry['symbol']}"
        and any(launch.fits(entry["package"], entry["symbol"]) for launch in launches())
    ]
    if options.checked:
        rows_checked = map(json.loads, options.checked.read_text().splitlines())
        good = {row["index"] for row in rows_checked if row.get("equal")}
        wanted = [entry for entry in wanted if entry["index"] in good]
    if options.skip and options.skip.is_file():
        rows_before = map(json.loads, options.skip.read_text().splitlines())
        done = {row["index"] for row in rows_before if row.get("equal") or "ratio" in row}
        wanted = [entry for entry in wanted if entry["index"] not in done]
    left: queue.SimpleQueue[int] = queue.SimpleQueue()
    for entry in sorted(wanted, key=lambda entry: not entry.get("first")):
        left.put(entry["index"])
    options.out.write_text("")
    until = time.monotonic() + options.seconds
    rows: list[dict[str, Any]] = []
    lock = threading.Lock()

    def keep(row: dict[str, Any]) -> None:
        with lock:
            rows.append(row)
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(line_of(row), flush=True)

    threads = [
        threading.Thread(target=work, args=(options.what, options.pack, left, keep, until))
        for _ in range(options.workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if options.what == "time":
        print("\n".join(f"TIMED {json.dumps(row)}" for row in rows if "ratio" in row))
        print_figures(rows)
        if options.json and any("ratio" in row for row in rows):
            options.json.write_text(json.dumps(results(rows), indent=1))
    else:
        print(f"{sum(bool(row.get('equal')) for row in rows)} of {len(wanted)} kernels have nvcc's numbers")
        print("\n".join(f"SMALL {json.dumps(row)}" for row in rows if "small" in row))


def work(what: str, pack: Path, left: queue.SimpleQueue[int], keep: Any, until: float) -> None:
    """Feed kernels to a process, and to another one when it ends."""
    process, lines = None, None
    while time.monotonic() < until:
        try:
            index = left.get_nowait()
        except queue.Empty:
            break
        if process is None:
            process, lines = start(what, pack)
        assert process.stdin and lines
        row: dict[str, Any] = {"index": index}
        try:
            process.stdin.write(f"{index}\n")
            process.stdin.flush()
            limit = time.monotonic() + STUCK
            while True:
                line = lines.get(timeout=max(0.1, limit - time.monotonic()))
                if line is None:
                    row["error"] = f"the process ended: {process.wait()}"
                    break
                if MARK in line:  # a kernel may print, too
                    row = json.loads(line.partition(MARK)[2])
                    break
        except queue.Empty:
            row["error"] = f"nothing came back in {STUCK:.0f} s"
        except OSError as error:
            row["error"] = str(error)
        keep(row)
        if "error" in row and not row.get("alive"):
            process.kill()
            process.wait()
            process = None
    if process is not None:
        process.kill()


def start(what: str, pack: Path) -> tuple[subprocess.Popen[str], queue.SimpleQueue[str | None]]:
    command = [sys.executable, "-m", "cuda_sweep.worker", what, str(pack)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return process, lines


def line_of(row: dict[str, Any]) -> str:
    name = f"{row['index']:3} {row.get('package', '')[:12]:12} {row.get('name', '')[:34]:34}"
    if "error" in row:
        return f"{name} {row['error'][:160]}"
    used = f"{row['registers'][0]}/{row['registers'][1]} regs, {row['local'][0]}/{row['local'][1]} stack"
    if "ratio" in row:
        return f"{name} {row['ours']:9.2f} us {row['nvcc']:9.2f} us {row['ratio']:6.3f} ±{row['noise']:.1%} {used}"
    return f"{name} {row['words']:40} {used}"


def print_figures(rows: list[dict[str, Any]]) -> None:
    timed = sorted((row for row in rows if "ratio" in row), key=lambda row: -row["ratio"])
    if not timed:
        return
    slow = [row for row in timed if row["ratio"] > WORST]
    words = f"geometric mean {mean(timed):.4f}, worst {timed[0]['ratio']:.3f}, {len(slow)} above {WORST}"
    print(f"{len(timed)} kernels: {words}")
    for row in slow:
        print("SLOW", line_of(row))


def mean(timed: list[dict[str, Any]]) -> float:
    """The geometric mean of the ratios."""
    return math.exp(sum(math.log(row["ratio"]) for row in timed) / len(timed))


def results(rows: list[dict[str, Any]], surroundings: dict[str, Any] | None = None) -> dict[str, Any]:
    """As the benchmarks write it: the geometric mean of all and of each package, and the kernels that are slower."""
    timed = sorted((row for row in rows if "ratio" in row), key=lambda row: -row["ratio"])
    groups = {"all packages": timed}
    for row in sorted(timed, key=lambda row: row["package"]):
        groups.setdefault(row["package"], []).append(row)
    made = [
        _figure(f"kernels of {name}: geometric mean of {len(own)}", mean(own), MEAN if own is timed else None)
        for name, own in groups.items()
    ]
    made += [
        _figure(
            f"{row['package']}: {row['name']}", row["ratio"], WORST, {"ours us": row["ours"], "nvcc us": row["nvcc"]},
            row["noise"], f"registers {row['registers'][0]}, nvcc's {row['registers'][1]}",
        )
        for row in timed
        if row["ratio"] > WORST or row is timed[0]
    ]  # fmt: skip
    return {"benchmark": "kernels of other packages against nvcc", **(surroundings or _surroundings()), "rows": made}


def _figure(
    name: str,
    value: float,
    goal: float | None,
    sides: dict[str, float] | None = None,
    noise: float = 0.0,
    note: str = "",
) -> dict[str, Any]:
    reached = None if goal is None else value <= goal
    return {"name": name, "value": value, "unit": "x", "goal": goal, "at_least": False, "sides": sides or {},
            "noise": noise, "note": note, "reached": reached}  # fmt: skip


def _surroundings() -> dict[str, Any]:
    import os
    import platform
    from datetime import date

    import torch
    import triton

    return {
        "date": date.today().isoformat(),
        "gpu": torch.cuda.get_device_name(),
        "machine": f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "python": platform.python_version(),
        "triton": triton.__version__,
        "torch": torch.__version__,
    }


if __name__ == "__main__":
    main()
