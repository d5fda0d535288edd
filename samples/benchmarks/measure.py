"""How the benchmarks time, check and report: one process, both sides, alternating, medians."""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

ROUNDS = 7
SAMPLES = 5  # of each side in a round: A B, B A, A B, ...: drift of the clocks hits both sides
QUICK = 3, 3  # rounds and samples of a first look
# A sample is short and comes after a pause. In a row, products soon draw as much power as the card may, and a side's
# clocks are then what the launches before it have left: the same kernel differs by 14 % from round to round.
PAUSE, BURST = 0.02, 4.0  # seconds, milliseconds


@dataclass
class Row:
    """One figure. ``value`` is compared with ``goal``, if there is one; ``sides`` are what it was made of."""

    name: str
    value: float
    unit: str
    goal: float | None
    at_least: bool = False
    sides: dict[str, float] = field(default_factory=dict)
    noise: float = 0.0
    note: str = ""

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def line(self) -> str:
        sides = ", ".join(f"{name} {value:.4g}" for name, value in self.sides.items())
        noise = f" ±{self.noise:.1%}" if self.noise else ""
        goal = "no goal"
        if self.goal is not None:
            goal = f"goal {'>=' if self.at_least else '<='} {self.goal:g} {'yes' if self.reached else 'NO'}"
        return f"{self.name:48} {self.value:8.3f} {self.unit:2} ({goal}) {sides}{noise} {self.note}"


def arguments(description: str, groups: Sequence[str] = ()) -> argparse.Namespace:
    """The options that all benchmarks have; of one with several groups of figures ``--only`` takes one."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--compile-only", action="store_true", help="no GPU: compile everything, time nothing")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, to see that it works")
    if groups:
        parser.add_argument("--only", choices=groups, help="measure these alone, reported under a name of their own")
    return parser.parse_args()


def report(benchmark: str, rows: Sequence[Row], options: argparse.Namespace) -> None:
    """Print the table, and write it as JSON when asked."""
    for row in rows:
        print(row.line(), flush=True)
    write(benchmark, rows, options)


def write(benchmark: str, rows: Sequence[Row], options: argparse.Namespace) -> None:
    """Write the table, which is printed already, as JSON when asked."""
    if options.json:
        data = {"benchmark": benchmark, "date": date.today().isoformat(), **surroundings()}
        data["rows"] = [{**asdict(row), "reached": row.reached} for row in rows]
        options.json.write_text(json.dumps(data, indent=1))


def surroundings() -> dict[str, Any]:
    """Hardware and versions."""
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return {
        "gpu": gpu,
        "machine": f"{platform.system()} {platform.machine()}, {_cores()} cores",
        "python": platform.python_version(),
        "triton": triton.__version__,
        "torch": torch.__version__,
    }


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0))


Launch = Callable[[int], object]  # takes the number of the buffer set
Pair = tuple[str, dict[str, float], float]  # a side's name, the milliseconds of it and of the reference, the spread


def compare(sides: dict[str, Launch], buffers: int, quick: bool = False) -> tuple[dict[str, float], float]:
    """Median milliseconds of one launch for each side, and the spread of the medians between rounds.

    Each side is captured into a CUDA graph that goes once through all buffer sets, so that launch gaps are small
    and no launch finds its input in the cache.
    """
    medians = _medians(sides, buffers, *(QUICK if quick else (ROUNDS, SAMPLES)))
    result = {name: statistics.median(values) for name, values in medians.items()}
    noise = max((max(v) - min(v)) / statistics.median(v) / 2 for v in medians.values())
    return result, noise


def fastest(
    candidates: dict[str, Launch],
    check: Callable[[str, Launch], None],
    buffers: int,
    show: Callable[[float], str] | None = None,
    rounds: int = QUICK[0],
) -> tuple[str, Launch]:
    """The name and the launch of the fastest of those that run here: a block may take more shared memory than there is.

    Parameters
    ----------
    check : launches a candidate and ends the benchmark where its numbers are wrong. One that it cannot launch is
        printed with the error, and left out.
    show : what a candidate's milliseconds are, of a case that prints them all.
    rounds : of samples of each candidate, as ``compare`` takes them of one side.

    Raises
    ------
    RuntimeError : none of them runs here.
    """
    found: dict[str, float] = {}
    for name, launch in candidates.items():
        try:
            check(name, launch)
        except Exception as error:
            print(f"  {name}: {type(error).__name__}: {str(error)[:150]}", flush=True)
            continue
        found[name] = statistics.median(_medians({name: launch}, buffers, rounds, QUICK[1])[name])
        if show is not None:
            print(f"  {name:48} {show(found[name]):>8}", flush=True)
    if not found:
        raise RuntimeError(f"none of {len(candidates)} candidates runs here")
    best = min(found, key=lambda name: found[name])
    return best, candidates[best]


def each_against(reference: str, sides: dict[str, Launch], buffers: int, quick: bool = False) -> Iterator[Pair]:
    """``compare`` for each other side with ``reference``."""
    for name in sides:
        if name != reference:
            yield name, *compare({name: sides[name], reference: sides[reference]}, buffers, quick)


def rows_of_all(
    makers: Sequence[Callable[[], Any]], rows_of: Callable[[Any, bool], list[Row]], quick: bool
) -> tuple[list[Row], list[str]]:
    """The rows of each case, printed as they come, and what went wrong: the others are measured all the same.

    A case has a name, and is made just before it is measured: its arrays are gone when the next one's are made.
    """
    import torch

    rows, failed = [], []
    for make_case in makers:
        name = "a case"
        try:
            case = make_case()
            name = case.name
            found = rows_of(case, quick)
        except (Exception, SystemExit) as error:
            failed.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
            continue
        rows += found
        print("\n".join(row.line() for row in found), flush=True)
        del case
        torch.cuda.empty_cache()
    return rows, failed


def _medians(sides: dict[str, Launch], buffers: int, rounds: int, samples: int) -> dict[str, list[float]]:
    """Of each side, the median milliseconds of one launch in each round."""
    graphs = {name: _graph(launch, buffers) for name, launch in sides.items()}
    replays = {name: max(1, round(BURST / _sample(graph, 1))) for name, graph in graphs.items()}
    medians: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        taken: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(samples):
            for name in list(graphs) if turn % 2 else reversed(list(graphs)):
                taken[name].append(_sample(graphs[name], replays[name]))
        for name in sides:
            medians[name].append(statistics.median(taken[name]) / buffers)
    return medians


def _graph(launch: Launch, buffers: int) -> Any:
    import torch

    for number in range(buffers):
        launch(number)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for number in range(buffers):
            launch(number)
    graph.replay()
    torch.cuda.synchronize()
    return graph


def _sample(graph: Any, replays: int) -> float:
    """Milliseconds of one replay, of several behind one another."""
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    time.sleep(PAUSE)
    start.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / replays


def check(name: str, got: Any, expected: Any, most: float) -> None:
    """The norm of the error over the norm of a float64 reference; ends the benchmark when it is too large."""
    import torch

    difference = got.to(torch.float64) - expected.to(torch.float64)
    error = (difference.norm() / expected.to(torch.float64).norm()).item()
    if not error <= most:
        raise SystemExit(f"{name}: relative error {error:.3g}, at most {most:.3g} is right")
