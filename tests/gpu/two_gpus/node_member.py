"""One of two processes, each a node with a GPU: ``python -m tests.gpu.two_gpus.node_member RANK FOLDER CASE…``."""

from __future__ import annotations

import os
import sys
import time

import torch

from tests.gpu.two_gpus import cases, node_cases
from tle_raw.distributed import FileExchange, context


def main(rank: int, folder: str, names: list[str]) -> None:
    torch.cuda.set_device(rank)
    group = FileExchange(folder, rank, 2, timeout=60)
    for name in names:
        start = time.monotonic()
        if name == "another_group":
            node_cases.another_group(group, context, rank)
            group.all_gather(b"")
        else:
            of_one_node = name.startswith("one_node_")
            own = context(
                group, bytes=64 << 20, time_limit=8.0, device=rank, memory="nvshmem", nodes=1 if of_one_node else 2
            )
            if of_one_node:
                getattr(cases, name.removeprefix("one_node_"))([own])
            else:
                getattr(node_cases, name)(own)
            own.close()
        print(f"{name}: right, {time.monotonic() - start:.1f} s", flush=True)
    sys.stdout.flush()
    os._exit(0)  # a member that saw a fault has left the others' collective calls


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
