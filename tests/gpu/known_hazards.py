"""What racecheck reports although it is ordered: how Triton starts the partitions of specialised warps.

    python tests/gpu/known_hazards.py LOG FOLDER

LOG is the output of ``compute-sanitizer --tool racecheck``, FOLDER a cache of Triton's with the machine code of the
kernels that ran. The reports that are left are printed; the exit status is 1 where there are any, or where what was
watched failed itself.

A worker's warps read a byte that says which partition is theirs, and the kernel's own warps write it (the pattern, and
kernels that have it alone: ``worker_state.py``). Between every write and every read lies barrier 1 of the whole block,
on every path through the machine code. A report is known when all its accesses are of these two instructions, found in
the kernel's machine code: the byte's load behind ``BAR.SYNC 1``, and the store in front of it, of a word that begins as
many bytes behind as the kernel has own warps::

    BAR.SYNC.DEFER_BLOCKING 0x1                      STS [UR8+0x38040], R2
    LDS.U8 R2, [R2+UR24+0x38038]                     BAR.SYNC.DEFER_BLOCKING 0x1

A part of one of the two places may be added to its base in front: ``UIADD3 UR8, UR4, 0x4800, URZ``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_FUNCTION = re.compile(r"^\.text\.(?P<name>[\w$.]+):")
_INSTRUCTION = re.compile(r"/\*(?P<at>[0-9a-f]{4,})\*/\s+(?:@!?U?P\d+\s+)?(?P<text>[A-Z][^;]*?)\s*;")
_PLACE = re.compile(r"\[[^\]]*?\+?(?P<offset>0x[0-9a-f]+)\]")
_BARRIER = re.compile(r"^BAR\.SYNC(?:\.DEFER_BLOCKING)? 0x1$")
_BASE = re.compile(r"^UIADD3 UR\d+, UR\d+, (?P<part>0x[0-9a-f]+), URZ$")
_MEMORY = ("ST", "LD", "ATOM", "RED", "BAR", "UTMA", "SYNCS")
_REPORT = re.compile(r"^=+ (?:Error|Warning|Info): ")
_ACCESS = re.compile(r"(?P<kind>Write|Read) (?:Thread \([\d,]+\)|access) at (?P<name>[\w$.]+)\+(?P<at>0x[0-9a-f]+)")
_FAILED = ("Traceback (most recent call last)", "Target application returned an error", "Process didn't terminate")
_LEAST, _MOST = 4, 28  # own warps of a kernel with partitions


@dataclass(frozen=True)
class States:
    """Where a kernel's machine code writes the workers' states, and where it reads them."""

    writes: frozenset[int] = frozenset()
    reads: frozenset[int] = frozenset()


def find_states(sass: str) -> dict[str, States]:
    """Those of each function in the text that ``nvdisasm -c`` prints."""
    functions: dict[str, list[tuple[int, str]]] = {}
    name = ""
    for line in sass.splitlines():
        if function := _FUNCTION.match(line.strip()):
            name = function["name"]
        elif name and (instruction := _INSTRUCTION.search(line)):
            functions.setdefault(name, []).append((int(instruction["at"], 16), instruction["text"]))
    return {name: _states(lines) for name, lines in functions.items()}


def _states(lines: Sequence[tuple[int, str]]) -> States:
    memory = [(at, text) for at, text in lines if text.startswith(_MEMORY)]
    reads = {at: _offset(two) for (_, one), (at, two) in pairwise(memory) if _BARRIER.match(one) and _is_byte(two)}
    writes = {at: _offset(one) for (at, one), (_, two) in pairwise(memory) if _BARRIER.match(two) and _is_store(one)}
    parts = {0} | {int(found["part"], 16) for _, text in lines if (found := _BASE.match(text))}
    pairs = [
        (w, r)
        for w, word in writes.items()
        for r, byte in reads.items()
        if any(_LEAST <= word - byte + sign * part <= _MOST for part in parts for sign in (1, -1))
    ]
    return States(frozenset(w for w, _ in pairs), frozenset(r for _, r in pairs))


def _is_byte(text: str) -> bool:
    return text.startswith("LDS.U8 ")


def _is_store(text: str) -> bool:
    return re.match(r"STS(?:\.U8|\.U16|\.64|\.128)? ", text) is not None


def _offset(text: str) -> int:
    found = _PLACE.search(text)
    return int(found["offset"], 16) if found else 0


def reports(log: str) -> Iterator[str]:
    """Each report of racecheck's, with all its lines."""
    lines: list[str] = []
    for line in map(_without_progress, log.splitlines()):
        if not line.startswith("====") or _REPORT.match(line) or "RACECHECK SUMMARY" in line:
            if lines:
                yield "\n".join(lines)
            lines = [line] if _REPORT.match(line) else []
        elif lines:
            lines.append(line)
    if lines:
        yield "\n".join(lines)


def _without_progress(line: str) -> str:
    """What pytest says of a test that ended stands in front of the next report, on its line."""
    return re.sub(r"^[.sxFE]+(?==)", "", line)


def is_known(report: str, states: dict[str, States]) -> bool:
    """Whether all accesses of a report are those of workers' states."""
    accesses = list(_ACCESS.finditer(report))
    return bool(accesses) and all(
        int(each["at"], 16) in (of.writes if each["kind"] == "Write" else of.reads)
        for each in accesses
        for of in (states.get(each["name"], States()),)
    )


def _machine_code(folder: Path) -> dict[str, States]:
    import triton

    own = Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"
    program = own if own.exists() else shutil.which("nvdisasm")
    if program is None:
        raise SystemExit("no nvdisasm, neither Triton's nor a toolkit's: machine code cannot be read")
    found: dict[str, States] = {}
    for path in folder.rglob("*.cubin"):
        sass = subprocess.run([program, "-c", path], capture_output=True, text=True).stdout
        for name, states in find_states(sass).items():
            before = found.get(name, States())
            found[name] = States(before.writes | states.writes, before.reads | states.reads)
    return found


def main(log: str, folder: str) -> int:
    text = Path(log).read_text(errors="replace")
    found = list(reports(text))
    states = _machine_code(Path(folder)) if found else {}
    left = [report for report in found if not is_known(report, states)]
    print(f"{len(found) - len(left)} known reports of workers' states, {len(left)} others")
    print("\n".join(left))
    return 1 if left or not found or any(word in text for word in _FAILED) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
