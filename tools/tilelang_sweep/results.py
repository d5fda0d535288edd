"""What the sweep found: one record for each PrimFunc, and one for each script that gives none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MARK = "SWEEP "
COMPILED = "compiled"
NUMBERS = ("right", "wrong", "not checked", "ran", "failed")
OTHER_HARDWARE = ("amd", "aws", "ascend", "metal")
NEWER = re.compile(r"sm100|sm120|tcgen05")  # examples for Blackwell say so in their path


@dataclass
class Tried:
    """One PrimFunc, or with an empty ``name`` a script that gave none.

    Attributes
    ----------
    outcome : ``compiled``, or the name of the error.
    numbers : of a run: ``right`` and ``wrong`` by the script's own check or against TileLang alone; ``not checked``
        when there was neither; ``ran`` when the script ended before its check; ``failed`` when the kernel did not run.
    stack : bytes of local memory of a thread.
    factory : the function that asked TileLang for the kernel; ``case`` the test of the package that did.
    """

    script: str
    name: str
    outcome: str
    route: str = ""
    message: str = ""
    seconds: float = 0.0
    registers: int | None = None
    stack: int | None = None
    spills: int | None = None
    shared: int = 0
    numbers: str = ""
    checked_by: str = ""
    number: int = 0
    capability: int = 0
    factory: str = ""
    case: str = ""


def say(tried: Tried) -> None:
    """From a script's own process to the sweep; what is said last of a kernel counts."""
    print(f"\n{MARK}{json.dumps(asdict(tried))}", flush=True)


def table(found: Sequence[Tried], scripts: int) -> dict[str, Any]:
    """The counts by outcome and route; shares are of the CUDA kernels."""
    kernels = [t for t in found if t.name]
    foreign = [t for t in kernels if is_foreign(t)]
    ours = [t for t in kernels if not is_foreign(t)]
    compiled = [t for t in ours if t.outcome == COMPILED]
    routes = Counter("traced" if t.route == "traced" else "linked" for t in compiled)
    return {
        "scripts": scripts,
        "scripts without a kernel": {t.script: t.message for t in found if not t.name},
        "PrimFuncs": len(kernels),
        "for other hardware": [f"{t.script} {t.name}" for t in foreign],
        "CUDA kernels": len(ours),
        "compiled": _share(len(compiled), len(ours)),
        "traced": _share(routes["traced"], len(ours)),
        "linked": _share(routes["linked"], len(ours)),
        "with local memory": sum(bool(t.stack) for t in compiled),
        "refused": dict(Counter(t.outcome for t in ours if t.outcome != COMPILED).most_common()),
        "numbers": {n: _share(sum(t.numbers == n for t in ours), len(ours)) for n in NUMBERS},
        "reasons": dict(Counter(t.message[:110] for t in ours if t.outcome != COMPILED).most_common()),
        "wrong": [f"{t.script} {t.name} ({t.route}): {t.message[:160]}" for t in ours if t.numbers == "wrong"],
    }


def is_foreign(tried: Tried) -> bool:
    """Operations of other makers' processors, and scripts for them."""
    return tried.script.split("/")[0] in OTHER_HARDWARE or " belongs to " in tried.message


def _share(count: int, whole: int) -> dict[str, float]:
    return {"count": count, "percent": round(100 * count / max(whole, 1), 1)}


def print_table(counts: dict[str, Any], ran: bool) -> None:
    print(
        f"\n{counts['scripts']} scripts, {counts['PrimFuncs']} PrimFuncs, {counts['CUDA kernels']} of them CUDA kernels"
    )
    for name in ("compiled", "traced", "linked"):
        print(f"  {counts[name]['count']:4} {counts[name]['percent']:5.1f} %  {name}")
    print(f"  {counts['with local memory']:4}          with local memory")
    for name, count in counts["refused"].items():
        print(f"  {count:4}          {name}")
    for message, count in counts["reasons"].items():
        print(f"       {count:4} {message}")
    if ran:
        for name, share in counts["numbers"].items():
            print(f"  {share['count']:4} {share['percent']:5.1f} %  {name}")
        for line in counts["wrong"]:
            print(f"       {line}")
    if counts["for other hardware"]:
        print(f"apart, for other hardware: {', '.join(counts['for other hardware'])}")
    if counts["scripts without a kernel"]:
        print("apart, scripts without a kernel of their own, or that cannot run here:")
        for script, message in counts["scripts without a kernel"].items():
            print(f"       {script:70} {message[:90]}")


def write_json(file: Path, found: Sequence[Tried], scripts: int) -> None:
    """Whole at any moment: a run that is killed leaves what it had."""
    text = json.dumps({"table": table(found, scripts), "kernels": [asdict(t) for t in found]}, indent=1)
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text)
    beside.replace(file)
