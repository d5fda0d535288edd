"""The report of a kernel for Ascend, read from what ``hivmc`` would get: memories, pipes, synchronisation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tle_raw.reports.values import KernelReport, MemoryUse
from tle_raw.targets.ascend.tool import CLOSED
from tle_raw.targets.chips import CHIPS

_SPACES = {"ub": "UB", "cbuf": "L1", "ca": "L0A", "cb": "L0B", "cc": "L0C"}
_CONSTANT = re.compile(r"^\s*(%[\w-]+) = arith\.constant (-?\d+) : i64", re.MULTILINE)
_PLACED = re.compile(
    r"hivm\.hir\.pointer_cast\((?P<at>[^)]*)\)[^:]*: memref<(?P<dims>(?:\d+x)+)(?P<type>\w+), "
    r"(?:strided<[^>]*>, )?#hivm\.address_space<(?P<space>\w+)>>"
)
_CALL = re.compile(r"^\s*(?:%\S+ = )?(?:func\.)?call @(\w+)\(", re.MULTILINE)
_SYNCHRONISES = re.compile(r"hivm\.hir\.((?:set|wait)_flag|pipe_barrier|sync_block(?:_set|_wait)?)\b")
# The pipe on which a function of the compiler's library runs, by how its name begins.
_PIPES = (
    ("load_gm_to_ubuf", "PIPE_MTE2"),
    ("load_gm_to_", "PIPE_MTE2"),
    ("nd2nz", "PIPE_MTE2"),
    ("store_ubuf_to_gm", "PIPE_MTE3"),
    ("copy_ubuf_to_ubuf", "PIPE_V"),
    ("mma_tile", "PIPE_M"),
    ("fixpipe", "PIPE_FIX"),
    *((start, "PIPE_V") for start in ("v", "broadcast", "reduce", "transpose", "cast", "select", "interleave")),
)
NEEDED = (
    f"{CLOSED} of Huawei's CANN, which is closed: it makes machine code of the HIVM in kernel.asm['hivm']",
    "CANN's driver and runtime, and a launcher that passes the six numbers of grid and program behind the arguments",
    "a card: no number of this kernel was computed on one",
)


def read_report(asm: Mapping[str, Any], metadata: Any) -> KernelReport:
    """Of one compiled kernel."""
    held = asm["hivm"]
    text = held.decode() if isinstance(held, bytes) else str(held)
    body = _body(text, metadata.name)
    chip = str(metadata.target.arch)
    used: dict[str, int] = {}
    for space, end in _placed(body):
        used[space] = max(used.get(space, 0), end)
    called = Counter(_pipe(name) for name in _CALL.findall(body))
    return KernelReport(
        kernel=metadata.name,
        target=f"ascend:{chip}",
        regions=(),
        entries=(metadata.name,),
        problems=(),
        static_shared=0,
        memories=tuple(MemoryUse(space, used.get(space, 0), size) for space, size in CHIPS[chip].items()),
        pipes=tuple(sorted(called.items())),
        synchronisation=tuple(sorted(Counter(_SYNCHRONISES.findall(body)).items())),
        still_needed=NEEDED,
    )


def _body(text: str, kernel: str) -> str:
    """The function that is the kernel; a kernel of both kinds of units is two, one for each."""
    parts = text.split("func.func ")
    return "".join(part for part in parts if re.match(rf"@{re.escape(kernel)}(?:_mix_ai[cv])?\(", part))


def _placed(body: str) -> Iterator[tuple[str, int]]:
    """Each buffer's space, and where it ends there, in bytes."""
    constants = {name: int(number) for name, number in _CONSTANT.findall(body)}
    for match in _PLACED.finditer(body):
        bits = int(re.sub(r"\D", "", match["type"]) or 8)
        count = 1
        for dim in match["dims"].split("x")[:-1]:
            count *= int(dim)
        for at in match["at"].split(","):
            yield _SPACES.get(match["space"], match["space"]), constants.get(at.strip(), 0) + -(-count * bits // 8)


def _pipe(function: str) -> str:
    return next((pipe for start, pipe in _PIPES if function.startswith(start)), "others")
