"""Bytes as LLVM's and MLIR's strings have them."""

from __future__ import annotations


def escaped(data: bytes) -> str:
    """Two hex digits behind a backslash for each byte that is not printed, for quotes and for backslashes."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data)
