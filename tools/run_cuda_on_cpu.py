"""Runs kernels of other packages on the CPU, with the small arguments of their launches, and compares the numbers.

    python tools/run_cuda_on_cpu.py FOLDER [INDEX...] [--match vllm] [--gpu check.jsonl] [--out FILE] [--only-compare]

FOLDER holds the unpacked source distributions, as for ``sweep_cuda.py``. What a kernel wrote is compared with a
reference in float64 (``cuda_sweep/references``), and with the numbers of the same launch on a GPU, of nvcc's machine
code, which ``launch_cuda.py check`` wrote (``--gpu``): it is right where one of them says so and the other not
otherwise. Every kernel runs in a process of its own; every result is a line of JSON in the output, and its arrays lie
beside it, from which a later call with ``--only-compare`` takes them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from cuda_sweep.kernels import Listed, listed
from cuda_sweep.launches import Launch, launches
from cuda_sweep.numbers import agree, kept, sampled_places, samples
from cuda_sweep.references import judge, reference_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--match", default="")
    parser.add_argument("--gpu", type=Path, help="what launch_cuda.py check has written")
    parser.add_argument("--out", type=Path, default=Path("on_cpu.jsonl"))
    parser.add_argument("--limit", type=int, default=150, help="seconds for one kernel")
    parser.add_argument("--only-compare", action="store_true", help="run nothing")
    parser.add_argument(
        "indices", type=int, nargs="*", help="lines of the list; by default those that are not in --out"
    )
    options = parser.parse_intermixed_args()
    known = list(launches())
    rows = _rows(options.out)
    for index, kernel in enumerate(listed()):
        launch = next((launch for launch in known if launch.fits(kernel.package, kernel.symbol)), None)
        if launch is None or options.match not in f"{kernel.package} {kernel.symbol}" or options.only_compare:
            continue
        if index in options.indices or not (options.indices or index in rows):
            _apart(index, kernel, launch, options)
    _print_table(options, known)


def _rows(path: Path) -> dict[int, dict[str, Any]]:
    """The last row of each kernel."""
    if not path.is_file():
        return {}
    found = map(json.loads, path.read_text().splitlines())
    return {row["index"]: row for row in found}


def _apart(index: int, kernel: Listed, launch: Launch, options: Any) -> None:
    import tle_raw.adapters.cuda.adapter
    import tle_raw.emulation  # noqa: F401

    child = os.fork()
    if child == 0:
        signal.alarm(options.limit)
        row: dict[str, Any] = {"index": index, "package": kernel.package, "name": kernel.name.partition("(")[0]}
        start = time.monotonic()
        try:
            row["outputs"] = _outputs(index, kernel, launch, options)
        except Exception as error:
            row |= {"error": type(error).__name__, "message": getattr(error, "message", str(error))[:400]}
        row["seconds"] = round(time.monotonic() - start, 1)
        _keep(row, options.out)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        ended = f"longer than {options.limit} seconds" if status == signal.SIGALRM else f"ended with {status}"
        name = kernel.name.partition("(")[0]
        _keep(
            {"index": index, "package": kernel.package, "name": name, "error": "crash", "message": ended}, options.out
        )


def _outputs(index: int, kernel: Listed, launch: Launch, options: Any) -> list[dict[str, Any]]:
    """What is kept of what it wrote; the arrays themselves go into a file beside the output."""
    from cuda_sweep.on_cpu import arrays_of, run_on_cpu

    root = kernel.root(options.sources.resolve())
    if root is None:
        raise FileNotFoundError(f"{kernel.package}-{kernel.version}")
    arrays = run_on_cpu(kernel, launch, root)
    path = _arrays_file(options.out, index)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{str(place): array for place, array in arrays.items()})
    given = arrays_of(launch.make(True))
    return [{"place": place, **kept(given[place], array)} for place, array in arrays.items()]


def _arrays_file(out: Path, index: int) -> Path:
    return out.with_suffix(".arrays") / f"{index}.npz"


def _keep(row: dict[str, Any], out: Path) -> None:
    with out.open("a") as file:
        file.write(json.dumps(row) + "\n")
    words = row.get("message") or f"{len(row['outputs'])} arrays"
    print(
        f"{row['index']:3} {row['package']:18} {row['name']:34} {row.get('seconds', 0):6.1f} s  {words[:110]}",
        flush=True,
    )


def _print_table(options: Any, known: list[Launch]) -> None:
    counts: Counter[str] = Counter()
    rows, gpu = _rows(options.out), _rows(options.gpu) if options.gpu else {}
    for index, kernel in enumerate(listed()):
        launch = next((launch for launch in known if launch.fits(kernel.package, kernel.symbol)), None)
        if launch is None:
            outcome, words = "no launch", "its arguments are not in launches.txt"
        elif index not in rows:
            outcome, words = "not tried", ""
        elif "error" in rows[index]:
            outcome, words = "failed", f"{rows[index]['error']}: {rows[index]['message']}"
        else:
            outcome, words = _judged(kernel, launch, rows[index], gpu.get(index, {}).get("small"), options)
        counts[outcome] += 1
        print(f"{index:3} {kernel.package[:12]:12} {kernel.name.partition('(')[0][:34]:34} {outcome:18} {words[:150]}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))


def _judged(kernel: Listed, launch: Launch, row: dict[str, Any], theirs: Any, options: Any) -> tuple[str, str]:
    """What became of a kernel that ran, and by what it was judged."""
    if launch.writes:
        return "ran, not compared", launch.writes
    reference, file = reference_of(kernel), _arrays_file(options.out, row["index"])
    source = (kernel.root(options.sources) or options.sources) / kernel.file
    found = {}
    if theirs is not None:
        found["nvcc"] = agree(row["outputs"], theirs)
    if reference is not None and file.is_file():
        with np.load(file) as arrays:
            found["reference"] = judge(
                reference, launch, {int(place): arrays[place] for place in arrays.files}, file=source
            )
    elif reference is not None:
        written = {output["place"]: samples(output) for output in row["outputs"]}
        found["reference, where sampled"] = judge(reference, launch, written, sampled_places, source)
    if not found:
        return "ran, not compared", ""
    good = all(close for close, _ in found.values())
    return "right" if good else "WRONG", "; ".join(f"{who}: {words}" for who, (_, words) in found.items())


if __name__ == "__main__":
    main()
