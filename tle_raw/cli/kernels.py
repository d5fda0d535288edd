"""Finds compiled kernels in Triton's cache."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from tle_raw.errors import ReportError

BINARIES = ("cubin", "obj")
TEXTS = ("ttir", "ttgir", "llir", "ptx", "linalg", "llvmir", "asm")
# What a report is read from, for a GPU and for a CPU.
NEEDED = ({"ptx"}, {"asm", "obj"})


@dataclass(frozen=True)
class CachedKernel:
    """What ``tle_raw.report`` reads of a compiled kernel."""

    metadata: SimpleNamespace
    asm: dict[str, str | bytes]


def is_kernel_folder(text: str) -> bool:
    """Whether the text means Triton's cache: a folder, or the hash of a kernel."""
    return Path(text).is_dir() or re.fullmatch(r"[0-9a-f]{64}|[A-Z2-7]{52}", text) is not None


def kernels_of(text: str) -> list[CachedKernel]:
    """The kernels with a region in a folder of Triton's cache; ``text`` is the folder or the kernel's hash.

    Raises
    ------
    ReportError : there is none.
    """
    folder = Path(text) if Path(text).is_dir() else _folder_of_hash(text)
    records = [f for f in sorted(folder.rglob("*.json")) if not f.name.startswith("__grp__")]
    found = [kernel for kernel in map(_kernel, records) if kernel is not None]
    if not found:
        raise ReportError(
            f"no kernel with a region lies in {folder}",
            hint="a kernel's folder is <Triton's cache>/<hash>; compile the kernel first",
        )
    return found


def _folder_of_hash(text: str) -> Path:
    import triton

    # Triton names the folder by the base32 spelling of the hexadecimal hash that a kernel carries.
    name = base64.b32encode(bytes.fromhex(text)).decode().rstrip("=") if len(text) == 64 else text
    return Path(triton.knobs.cache.dir) / name


def _kernel(record: Path) -> CachedKernel | None:
    try:
        metadata = json.loads(record.read_text())
        if not isinstance(metadata, dict) or "tle_raw" not in metadata:
            return None
        asm: dict[str, str | bytes] = {}
        for kind in (*TEXTS, *BINARIES):
            file = record.with_suffix(f".{kind}")
            if file.exists():
                asm[kind] = file.read_bytes() if kind in BINARIES else file.read_text()
    except (OSError, ValueError):
        return None
    if not any(needed <= asm.keys() for needed in NEEDED):
        return None
    metadata["target"] = SimpleNamespace(**metadata["target"])
    return CachedKernel(SimpleNamespace(**metadata), asm)
