"""One of two processes, each with a GPU: ``python -m tests.gpu.two_gpus.member RANK torch|ipc FOLDER PORT CASE…``."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import pytest
import torch

from tests.gpu.two_gpus import cases
from tle_raw.distributed import FileExchange, context
from tle_raw.errors import ContextError


def main(rank: int, memory: str, folder: str, port: str, names: list[str]) -> None:
    torch.cuda.set_device(rank)
    group: Any = None
    if memory == "torch":
        import torch.distributed as dist

        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        dist.init_process_group("nccl", rank=rank, world_size=2, device_id=torch.device("cuda", rank))
    else:
        group = FileExchange(folder, rank, 2, timeout=60)
    for name in names:
        start = time.monotonic()
        if name == "disagree":
            with pytest.raises(ContextError, match="different things"):
                context(group, bytes=(1 + rank) << 20, device=rank)
        else:
            own = context(group, bytes=256 << 20, time_limit=8.0, device=rank)
            if name == "dies":
                _die_or_wait(own, rank)
            getattr(cases, name)([own])
            own.close()
        print(f"{name}: right, {time.monotonic() - start:.1f} s", flush=True)
    if memory == "torch":
        dist.destroy_process_group()


def _die_or_wait(own: Any, rank: int) -> None:
    """Member 1 is gone before the barrier, and member 0 says so."""
    if rank == 1:
        print("dies: right", flush=True)
        os._exit(0)
    time.sleep(0.5)
    cases.nobody_comes_to_a_barrier([own], 0)
    own.close()
    print("dies: right", flush=True)
    os._exit(0)  # torch would wait for the other one


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
