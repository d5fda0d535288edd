"""One kernel of the list, compiled in a process of its own; and the counts of all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuda_sweep.against_nvcc import as_json, compare, noting
from cuda_sweep.kernels import Listed

OK = "compiled"
DYNAMIC_SHARED = 16384  # bytes, for kernels that ask for dynamic shared memory
_MARK = "TRIED "
_TOOLS = str(Path(__file__).parents[1])


@dataclass
class Tried:
    """``outcome`` is ``compiled`` or the name of an error; ``where`` is the error's file and line, if it has one.

    ``compared`` is the machine code beside nvcc's, where that was asked for.
    """

    package: str
    file: str
    symbol: str
    outcome: str
    seconds: float = 0.0
    message: str = ""
    where: str = ""
    log: str = ""
    compared: dict[str, Any] | None = None

    @property
    def reason(self) -> str:
        """The message without names and numbers, so that equal reasons are counted together."""
        words = re.sub(
            r"fragment `[^`]*`: |`[^`]*`|'[^']*'|\"[^\"]*\"", lambda m: "" if m[0][0] == "f" else "…", self.message
        )
        return re.sub(r"\d+", "N", words)[:110]


def try_apart(kernel: Listed, sources: Path, target: str, limit: float, nvcc: str = "", kept: str = "") -> Tried:
    """Compile in a new process, which is ended when its time is over."""
    request = json.dumps(
        {**asdict(kernel), "sources": str(sources), "target": target, "nvcc": nvcc, "kept": kept, "limit": limit}
    )
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {_TOOLS!r}); from cuda_sweep.trial import _main; _main()",
    ]
    start = time.monotonic()
    try:
        done = subprocess.run(command, input=request, capture_output=True, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return Tried(kernel.package, kernel.file, kernel.symbol, "time", limit, f"longer than {limit:.0f} seconds")
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return Tried(**json.loads(line[len(_MARK) :]))
    message = done.stderr.strip()[-300:] or f"exit status {done.returncode}"
    return Tried(kernel.package, kernel.file, kernel.symbol, "crash", time.monotonic() - start, message)


def _main() -> None:
    request = json.loads(sys.stdin.read())
    sources, target = Path(request.pop("sources")), request.pop("target")
    nvcc, kept, limit = request.pop("nvcc"), request.pop("kept"), request.pop("limit")
    kernel = Listed(**{**request, "block": tuple(request["block"])})
    print(_MARK + json.dumps(asdict(_try(kernel, sources, target, nvcc, kept, limit))), flush=True)
    os._exit(0)


def _try(kernel: Listed, sources: Path, target: str, nvcc: str, kept: str, limit: float) -> Tried:
    import tle_raw  # in the kernel's own process
    from tle_raw.errors import TLEError
    from tle_raw.identity import digest

    tried = Tried(kernel.package, kernel.file, kernel.symbol, OK)
    root = kernel.root(sources)
    if root is None or not (root / kernel.file).is_file():
        tried.outcome, tried.message = "no source", f"{kernel.package} {kernel.version} has no {kernel.file}"
        return tried
    start = time.monotonic()
    try:
        fragment = tle_raw.fragment(
            root / kernel.file,
            dialect="cuda",
            symbol=kernel.symbol,
            include_dirs=kernel.folders(root),
            flags=kernel.included(root),
            # what a cache has, clang is not asked
            defines=[*kernel.defines(), *([f"TLE_RAW_SWEEP={time.time_ns()}"] if nvcc else [])],
        )
        with noting() as asked:
            try:
                compiled = fragment.as_kernel(block=kernel.block).compile(target)
            except TLEError as error:
                if "nobody says how much" not in error.message:
                    raise
                compiled = fragment.as_kernel(block=kernel.block, shared=DYNAMIC_SHARED).compile(target)
        tried.seconds = time.monotonic() - start
        if not (compiled.asm.get("cubin") or compiled.asm.get("obj")):  # a GPU's, or the CPU's
            tried.outcome, tried.message = "no machine code", ""
        elif nvcc:
            folder = Path(kept) / f"{kernel.package}-{digest(kernel.file, kernel.symbol)[:12]}"
            tried.compared = as_json(compare(compiled.asm["cubin"], asked, root, nvcc, limit / 2, folder))
            (folder / "ours.ptx").write_text(compiled.asm["ptx"])
            (folder / "symbol.txt").write_text(f"{kernel.file}\n{kernel.symbol}\n{asked.symbol}\n")
        return tried
    except TLEError as error:
        tried.outcome, tried.message = type(error).__name__, error.message
        tried.log = str(error)[:3000]
        tried.where = str(error.context.source or "") if error.context else ""
    except Exception as error:  # the sweep says what went wrong, whatever it was
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        tried.outcome, tried.message = type(cause).__name__, str(cause).split("\n")[0]
        tried.log = str(cause)[:3000]
    tried.seconds = time.monotonic() - start
    return tried


def print_table(found: Sequence[Tried]) -> None:
    """How many compiled, by package; the reasons of the others, most frequent first; the slowest."""
    packages = sorted({tried.package for tried in found})
    print()
    for package in packages:
        own = [tried for tried in found if tried.package == package]
        print(f"{package:20} {sum(t.outcome == OK for t in own):4} of {len(own)}")
    good = sum(tried.outcome == OK for tried in found)
    print(f"{'all':20} {good:4} of {len(found)}  ({100 * good / max(len(found), 1):.1f} %)\n")
    for (outcome, reason), count in Counter((t.outcome, t.reason) for t in found if t.outcome != OK).most_common():
        print(f"{count:4}  {outcome}: {reason}")
    print("\nlongest:")
    for tried in sorted(found, key=lambda tried: -tried.seconds)[:8]:
        print(f"{tried.seconds:6.1f} s  {tried.package} {tried.symbol[:60]}")
