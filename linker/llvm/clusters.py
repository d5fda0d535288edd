"""LLVM IR of a kernel that is launched in clusters: their size, and what reaches several of their blocks.

* The kernel gets the attribute of a cluster's size, which becomes ``.reqnctapercluster``.
* Copies by descriptors that stand between two marks (``flir/nvidia/cluster_assembly.py``) go to the blocks that the
  first mark is given, as bits of a number::

    %9 = tail call i32 asm sideeffect "// tle.multicast $1", "=r,r"(i32 %mask)
    tail call void asm sideeffect "@$0 cp.async.bulk.tensor.2d.shared::cluster...  [$1], [$2, {$3, $4}], [$5];", ...
    %10 = tail call i32 asm sideeffect "// tle.multicast", "=r,r"(i32 0)

* Where barriers with phases order what blocks write into each other's memory, a wait sees what all of the cluster did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle_raw.errors import MissingPatternError
from tle_raw.linker.mlir.text import matching_bracket

MARK = "// tle.multicast"
_OPENS = re.compile(r'asm sideeffect "// tle\.multicast \$1", "=r,r"\((i32 [^)]+)\)')
_CLOSES = f'"{MARK}"'
_COPY = re.compile(
    r'asm sideeffect "(?P<when>@\$0 )cp\.async\.bulk\.tensor\.(?P<rank>\dd)\.shared::\w+\.global(?P<mode>\.tile)?'
    r'\.mbarrier::complete_tx::bytes (?P<places>[^;"]*);", "(?P<constraints>[^"]*)"(?=\()'
)
_KERNEL = re.compile(r"^define ptx_kernel [^\n]* (#\d+)[^\n]*\{$", re.MULTILINE)
_WAIT = re.compile(r"(?<![a-z.])mbarrier\.try_wait\.parity\.shared(?:::cta)?\.b64")
_WAIT_FOR_CLUSTER = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"


def with_clusters(text: str, blocks: Sequence[int], *, has_multicast: bool, waits: bool) -> tuple[str, int]:
    """LLVM IR as Triton prints it, with all of this; how many edits there were.

    Parameters
    ----------
    blocks : of a cluster along the axes of the grid; none leaves out its size.
    has_multicast : there are marks.
    waits : barriers with phases order what blocks write into each other's memory.
    """
    found = 0
    if has_multicast:
        text, found = _multicast(text)
    if waits:
        text, more = _WAIT.subn(_WAIT_FOR_CLUSTER, text)
        found += more
    if blocks:
        text, more = _sized(text, blocks)
        found += more
    return text, found


def _sized(text: str, blocks: Sequence[int]) -> tuple[str, int]:
    kernel = _KERNEL.search(text)
    begin = text.find(f"attributes {kernel[1]} = {{ ") if kernel else -1
    if begin < 0:
        return text, 0
    at = text.index("{ ", begin) + 2
    size = ",".join(map(str, blocks if any(more > 1 for more in blocks[1:]) else blocks[:1]))
    return f'{text[:at]}"nvvm.cluster_dim"="{size}" {text[at:]}', 1


def _multicast(text: str) -> tuple[str, int]:
    kept, found, mask = list[str](), 0, ""
    for line in text.splitlines():
        if MARK in line and (opened := _OPENS.search(line)):
            mask, copies = opened[1], 0
            continue
        if _CLOSES in line:
            if not copies:
                raise MissingPatternError("a copy to several blocks of a cluster was lost in one of Triton's passes")
            mask = ""
            continue
        if mask and (copy := _COPY.search(line)):
            line, copies, found = _to_several(line, copy, mask), copies + 1, found + 1
        kept.append(line)
    return "\n".join(kept) + "\n", found


def _to_several(line: str, copy: re.Match[str], mask: str) -> str:
    operands = copy["constraints"].split(",")
    begin = copy.end()
    end = matching_bracket(line, begin)
    assembly = (
        f"{{ .reg .b16 m; cvt.u16.u32 m, ${len(operands)}; {copy['when']}cp.async.bulk.tensor.{copy['rank']}"
        f".shared::cluster.global{copy['mode'] or ''}.mbarrier::complete_tx::bytes.multicast::cluster "
        f"{copy['places']}, m; }}"
    )
    constraints = ",".join((*operands, "r"))
    return f'{line[: copy.start()]}asm sideeffect "{assembly}", "{constraints}"{line[begin:end]}, {mask}{line[end:]}'
