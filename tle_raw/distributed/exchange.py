"""How the members of a context tell each other where their memory is: bytes from each to all."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol

from tle_raw.errors import ContextError, Row


class Exchange(Protocol):
    """What a context asks of a group of processes. An object of one's own will do."""

    rank: int
    world: int

    def all_gather(self, data: bytes) -> list[bytes]:
        """What every member gave, in the order of their ranks; all of them call it, as often as each other."""
        ...


class FileExchange:
    """Processes of one machine that share a folder, which is new and empty.

    Parameters
    ----------
    folder : made if it is not there; only its owner may read it.
    rank, world : the number of this process, and of all of them.
    timeout : seconds to wait for the others, beyond which a ContextError names those that did not come.
    """

    def __init__(self, folder: str | Path, rank: int, world: int, timeout: float = 120.0) -> None:
        self.folder, self.rank, self.world, self.timeout = Path(folder), rank, world, timeout
        self._step = 0
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def all_gather(self, data: bytes) -> list[bytes]:
        step, self._step = self._step, self._step + 1
        unfinished = self.folder / f".{step}-{self.rank}"
        unfinished.write_bytes(data)
        os.replace(unfinished, self._file(step, self.rank))
        end = time.monotonic() + self.timeout
        while missing := [rank for rank in range(self.world) if not self._file(step, rank).exists()]:
            if time.monotonic() > end:
                raise ContextError(
                    f"members {', '.join(map(str, missing))} did not come within {self.timeout:g} seconds",
                    table=[Row("members", str(self.world), str(self.world - len(missing)))],
                )
            time.sleep(0.002)
        return [self._file(step, rank).read_bytes() for rank in range(self.world)]

    def _file(self, step: int, rank: int) -> Path:
        return self.folder / f"{step}-{rank}"


class TorchExchange:
    """A process group of ``torch.distributed``; None is the default one."""

    def __init__(self, group: Any = None) -> None:
        import torch.distributed as dist  # optional, and slow to import

        self.group = group
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)

    def all_gather(self, data: bytes) -> list[bytes]:
        import torch.distributed as dist

        found: list[Any] = [None] * self.world
        dist.all_gather_object(found, data, group=self.group)
        return found


def exchange_of(group: Any) -> Exchange:
    """The exchange that a context's ``group`` means; raises ContextError for what is neither.

    ``group`` is None or a process group of ``torch.distributed``, or has ``rank``, ``world`` and ``all_gather`` itself.
    """
    if all(hasattr(group, name) for name in ("rank", "world", "all_gather")):
        return group  # type: ignore[no-any-return]
    if group is None or hasattr(group, "rank"):
        return TorchExchange(group)
    raise ContextError(
        "a context is made for a group of processes",
        table=[Row("group", "a group of torch.distributed, or an Exchange", type(group).__name__)],
    )
