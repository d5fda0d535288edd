"""The methods of pipes, their ends and cursors: functions on them, as Triton gives its own to tensors."""

from __future__ import annotations

from tle_raw.frontends.gpu.pipes import create, cursor, reader, writer
from tle_raw.frontends.gpu.pipes.cursor import pipe_cursor
from tle_raw.frontends.gpu.pipes.values import pipe_end, pipe_reader, pipe_value, pipe_writer
from tle_raw.frontends.lite.kernel_function import kernel_function

BODIES = {
    pipe_value: (create.writer, create.reader),
    pipe_end: (writer.cursor,),
    pipe_writer: (writer.acquire, writer.commit, writer.close),
    pipe_reader: (reader.wait, reader.release),
    pipe_cursor: (cursor.advance,),
}


def add_methods() -> None:
    """Give each its own."""
    for owner, bodies in BODIES.items():
        for body in bodies:
            setattr(owner, body.__name__, kernel_function(body, f"pipe.{body.__name__}"))
