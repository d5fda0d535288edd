"""Read TritonGPU text into a module of Triton's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from triton._C.libtriton import ir

from tle_raw.linker.processes.temporary_folder import temporary_folder

_NAME = "module.ttgir"
_OPEN_FILES = "/proc/self/fd"


def parse_module(text: str, context: Any) -> Any:
    """The module of a text, in libtriton's ``context``. libtriton reads IR from files only."""
    with _file_of(text.encode()) as file:
        module = ir.parse_mlir_module(file, context)
    module.context = context
    return module


@contextmanager
def _file_of(text: bytes) -> Iterator[str]:
    """In memory where the system has such files: a folder on a disk takes as long as to read a small kernel."""
    if not hasattr(os, "memfd_create") or not os.path.isdir(_OPEN_FILES):
        with temporary_folder() as folder:
            file = Path(folder, _NAME)
            file.write_bytes(text)
            yield str(file)
        return
    number = os.memfd_create(_NAME)
    try:
        written = 0
        while written < len(text):
            written += os.write(number, text[written:])
        yield f"{_OPEN_FILES}/{number}"
    finally:
        os.close(number)
