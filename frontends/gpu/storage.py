"""What the views of one allocation share: its name, its type, and whether it was freed."""

from __future__ import annotations

from dataclasses import dataclass

from tle_raw.errors import Row, SharedBufferError, SourceLocation
from tle_raw.frontends.gpu.buffer_type import BufferType


@dataclass
class Storage:
    """One allocation. A buffer that comes out of a loop or a function is not known to be one's."""

    name: str = ""
    type: BufferType | None = None
    freed: SourceLocation | None = None

    def check_alive(self, function: str) -> None:
        """Raise a SharedBufferError where it was freed."""
        if self.freed is not None:
            raise SharedBufferError(
                f"tle.gpu.{function}: the buffer{f' `{self.name}`' if self.name else ''} was freed before",
                table=[Row("buffer", "allocated", f"freed at {self.freed}")],
            )
