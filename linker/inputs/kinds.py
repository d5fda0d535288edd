"""Tells by their first bytes what files of device code are."""

from __future__ import annotations

import re

from tle_raw.linker.from_ptx.read_module import is_ptx

# Raw bitcode, and bitcode inside the wrapper that Apple's tools write.
BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
FATBIN, LTO_IR, ELF, ARCHIVE = b"\x50\xed\x55\xba", b"\xed\x43\x4e\x7f", b"\x7fELF", b"!<arch>\n"
THIN_ARCHIVE = b"!<thin>\n"
_CUDA_MACHINE = 190
_LLVM = re.compile(
    r"^\s*(?:;|source_filename|target |define |declare |@|%[\w.\"]+ = type|attributes |!\w|module asm|\$)", re.MULTILINE
)


def is_bitcode(data: bytes) -> bool:
    return data.startswith(BITCODE)


def kind_of(data: bytes) -> str:
    """bitcode, llvm, ptx, fatbin, lto-ir, archive, cubin, object, or "" for what is none of them."""
    for kind, magics in (
        ("bitcode", BITCODE), ("fatbin", (FATBIN,)), ("lto-ir", (LTO_IR,)), ("archive", (ARCHIVE,)),
    ):  # fmt: skip
        if data.startswith(magics):
            return kind
    if data.startswith(ELF):
        return "cubin" if int.from_bytes(data[18:20], "little") == _CUDA_MACHINE else "object"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    if is_ptx(text):
        return "ptx"
    return "llvm" if _LLVM.match(text) else ""
