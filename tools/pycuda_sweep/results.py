"""What the sweep found: one record for each kernel of each script, and one for each script that gives none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MARK = "SWEEP "
REGION = "region"
NUMBERS = ("right", "wrong", "ran", "failed", "not run")


@dataclass
class Tried:
    """One ``__global__`` function, or one object of PyCUDA's; with an empty ``name`` a script that has none.

    Attributes
    ----------
    kind : ``SourceModule``; ``ElementwiseKernel`` and so on for objects; ``generated`` for the kernels that PyCUDA
        writes for them and for GPUArray.
    outcome : ``region``, or the name of the error.
    cubin : whether it became machine code; else ``message`` says why not.
    numbers : ``right`` and ``wrong`` by the script's own assertions, ``ran`` where it has none behind the launch,
        ``failed`` where the launch did, ``not run`` where there was none.
    """

    script: str
    kind: str
    name: str
    outcome: str
    cubin: bool = False
    numbers: str = "not run"
    message: str = ""
    block: tuple[int, ...] = ()
    launches: int = 0
    number: int = 0


def say(tried: Tried) -> None:
    """From a script's own process to the sweep; what is said last of a kernel counts."""
    print(f"\n{MARK}{json.dumps(asdict(tried))}", flush=True)


def table(found: Sequence[Tried], scripts: int) -> dict[str, Any]:
    """The counts, for the user's kernels and for those that PyCUDA writes."""
    kinds = {
        "kernels of SourceModules": [t for t in found if t.kind == "SourceModule"],
        "objects": [t for t in found if t.name and t.kind not in ("SourceModule", "generated")],
        "kernels that PyCUDA generates": [t for t in found if t.kind == "generated"],
    }
    return {
        "scripts": scripts,
        "scripts without a kernel": {t.script: t.message for t in found if not t.name},
        **{kind: _counts(tried) for kind, tried in kinds.items()},
    }


def _counts(tried: Sequence[Tried]) -> dict[str, Any]:
    regions = [t for t in tried if t.outcome == REGION]
    return {
        "all": len(tried),
        "regions": len(regions),
        "cubins": sum(t.cubin for t in tried),
        "numbers": {n: sum(t.numbers == n for t in tried) for n in NUMBERS},
        "refused": {f"{t.script} {t.name}": f"{t.outcome}: {t.message}" for t in tried if t.outcome != REGION},
        "without a cubin": {f"{t.script} {t.name}": t.message for t in regions if not t.cubin},
        "did not run": dict(Counter(t.message for t in regions if t.numbers in ("failed", "wrong") and t.message)),
    }


def print_table(counts: dict[str, Any]) -> None:
    print(f"\n{counts['scripts']} scripts")
    for kind in ("kernels of SourceModules", "objects", "kernels that PyCUDA generates"):
        one = counts[kind]
        numbers = ", ".join(f"{count} {name}" for name, count in one["numbers"].items() if count)
        print(f"{one['all']:4} {kind}: {one['regions']} become regions, {one['cubins']} machine code; {numbers}")
        for title in ("refused", "without a cubin", "did not run"):
            for name, message in one[title].items():
                print(f"       {title}: {name}: {str(message)[:150]}")
    for script, message in counts["scripts without a kernel"].items():
        print(f"       no kernel: {script:44} {message[:100]}")


def write_json(file: Path, found: Sequence[Tried], scripts: int) -> None:
    text = json.dumps({"table": table(found, scripts), "kernels": [asdict(t) for t in found]}, indent=1)
    file.write_text(text)
