"""Where what was read of large libraries is kept: their cut is paid once."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class KeepsTexts(Protocol):
    """A cache of texts under keys that name their content."""

    def load_text(self, key: str) -> str | None:
        """What was saved under the key, whole; or None."""

    def save_text(self, key: str, text: str) -> None:
        """Keep a text; whoever loads it meanwhile gets all of it or nothing."""


@dataclass(frozen=True)
class TextFolder:
    """A folder of such texts, a file each. Several processes may use it at once."""

    folder: Path

    def load_text(self, key: str) -> str | None:
        try:
            return (self.folder / key).read_text("utf-8", "surrogateescape")
        except OSError:
            return None

    def save_text(self, key: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".writing-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            os.replace(name, self.folder / key)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
