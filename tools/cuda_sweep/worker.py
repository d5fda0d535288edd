"""The process in which kernels are launched: it reads an index a line, and writes a result a line."""

from __future__ import annotations

import fcntl
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import compare as measure_sides  # of the benchmarks

from cuda_sweep.driver import Kernel, packed
from cuda_sweep.launches import Addresses, Buffer, Launch, launches
from cuda_sweep.numbers import compare, kept
from cuda_sweep.pack import read_image, read_index

SETS = 4  # of buffers, so that no launch finds its input in the cache
ROOM = 128 << 20  # bytes of the buffers together, from which on two sets do


def main() -> None:
    what, pack = sys.argv[1], Path(sys.argv[2])
    entries = {entry["index"]: entry for entry in read_index(pack)}
    known = list(launches())
    for line in sys.stdin:
        entry = entries[int(line)]
        row: dict[str, Any] = {"index": entry["index"], "package": entry["package"], "name": entry["name"]}
        row["symbol"] = entry["symbol"]
        launch = next(launch for launch in known if launch.fits(entry["package"], entry["symbol"]))
        try:
            row |= (check if what == "check" else measure)(entry, launch, pack)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {str(error)[:300]}"
            row["alive"] = _is_alive()
        print("RESULT " + json.dumps(row), flush=True)


def _is_alive() -> bool:
    """Whether the context still works: a fault ends it."""
    import torch

    try:
        torch.cuda.synchronize()
        torch.zeros(1, device="cuda").add_(1).cpu()
    except Exception:
        return False
    return True


class Sides:
    """Both kernels, and arrays on the GPU for them."""

    def __init__(self, entry: dict[str, Any], launch: Launch, pack: Path, small: bool, values: list[Any]) -> None:
        self.entry, self.grid, self.values = entry, launch.grid_of(small), values
        shared = launch.shared_bytes
        ours, theirs = entry["ours"], entry["nvcc"]
        lanes = ours["warps"] * 32
        self.ours = Kernel(read_image(pack, ours["image"]), ours["name"], (lanes,), ours["shared"])
        self.theirs = Kernel(read_image(pack, theirs["image"]), theirs["name"], entry["block"], shared)
        self.buffers = list(dict.fromkeys(_Same(b) for b in buffers_of(self.values)))
        self.first = {id(same.buffer): _on_gpu(same.buffer) for same in self.buffers}

    def arrays(self) -> dict[int, Any]:
        """Fresh copies, by the buffer's identity."""
        import torch

        made = {key: array.clone() for key, array in self.first.items()}
        for same in self.buffers:
            if isinstance(same.buffer, Addresses):
                held = [made[id(target)].data_ptr() if target else 0 for target in same.buffer.targets]
                made[id(same.buffer)] = torch.tensor(held, dtype=torch.int64).cuda()
        return made

    def bind(self, arrays: dict[int, Any]) -> tuple[Callable[[], None], Callable[[], None]]:
        ours, theirs = packed(self.entry["params"], self.values, lambda b: arrays[id(b)].data_ptr())
        return self.ours.bound(self.grid, ours), self.theirs.bound(self.grid, theirs)

    def used(self) -> dict[str, Any]:
        sides = (self.ours, self.theirs)
        return {"registers": [s.registers for s in sides], "local": [s.local for s in sides]}


def _on_gpu(buffer: Buffer) -> Any:
    """Its bytes."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(buffer.values).view(np.uint8)).cuda()


class _Same:
    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.buffer is self.buffer

    def __hash__(self) -> int:
        return id(self.buffer)


def buffers_of(values: Any) -> list[Buffer]:
    if isinstance(values, Addresses):
        return [values, *filter(None, values.targets)]
    if isinstance(values, Buffer):
        return [values]
    items = values.values() if isinstance(values, dict) else values if isinstance(values, list | tuple) else ()
    return [buffer for item in items for buffer in buffers_of(item)]


def check(entry: dict[str, Any], launch: Launch, pack: Path) -> dict[str, Any]:
    """Both sides with the same arguments, timed sizes and small ones."""
    row: dict[str, Any] = {}
    for small in (False, True):
        sides = Sides(entry, launch, pack, small, launch.make(small))
        outcome, outputs = _launched(sides, launch.writes, small)
        if not small:
            row |= sides.used() | outcome
        else:
            row["small"] = outputs
            if not outcome["equal"]:
                row |= {"equal": False, "words": f"small: {outcome['words']}"}
    return row


def _launched(sides: Sides, why_not: str, keep: bool) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    import torch

    found = []
    for number in (0, 1):
        arrays = sides.arrays()
        launch = sides.bind(arrays)[number]
        torch.cuda.synchronize()
        launch()
        torch.cuda.synchronize()
        found.append(arrays)
    worst, words, written, outputs, equal = 0.0, [], 0, [], True
    for place, same in enumerate(sides.buffers):
        ours, theirs = (arrays[id(same.buffer)] for arrays in found)
        before = sides.first[id(same.buffer)]
        if isinstance(same.buffer, Addresses) or (torch.equal(before, ours) and torch.equal(before, theirs)):
            continue
        written += 1
        dtype = same.buffer.values.dtype
        if not torch.equal(ours, theirs):
            error, text, good = compare(same.buffer, ours.cpu().numpy().view(dtype), theirs.cpu().numpy().view(dtype))
            worst, equal = max(worst, error), equal and good
            words += [f"array {place}: {text}"] if text else []
        if keep:
            outputs.append({"place": place, **kept(same.buffer, theirs.cpu().numpy().view(dtype))})
    if not written:
        words.append(why_not or "nothing was written")
        equal = bool(why_not)
    torch.cuda.empty_cache()
    return {"equal": equal, "words": "; ".join(words) or f"equal ({written} arrays)", "worst": worst}, outputs


def measure(entry: dict[str, Any], launch: Launch, pack: Path) -> dict[str, Any]:
    """Microseconds of a launch of each side. Of several processes one at a time uses the GPU."""
    values = launch.make(False)
    with open(Path(tempfile.gettempdir(), "cuda_sweep.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return _measured(Sides(entry, launch, pack, False, values))


def _measured(sides: Sides) -> dict[str, Any]:
    import torch

    total = sum(same.buffer.values.nbytes for same in sides.buffers)
    sets = [sides.arrays() for _ in range(SETS if total < ROOM else 2)]
    again = [same for same in sides.buffers if same.buffer.fresh]
    bound = [sides.bind(arrays) for arrays in sets]

    def side(number: int) -> Callable[[int], None]:
        def launch(place: int) -> None:
            for same in again:
                sets[place][id(same.buffer)].copy_(sides.first[id(same.buffer)])
            bound[place][number]()

        return launch

    found, noise = measure_sides({"ours": side(0), "nvcc": side(1)}, len(sets), quick=True)
    ours, theirs = found["ours"] * 1000, found["nvcc"] * 1000
    torch.cuda.empty_cache()
    return {"ours": ours, "nvcc": theirs, "ratio": ours / theirs, "noise": noise, **sides.used()}


if __name__ == "__main__":
    main()
