"""Benchmarks of two GPUs of one host: a process for each, in a group of NCCL's, without NVLink's multicast."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import measure
import torch
import torch.distributed as dist

WORLD = 2
_WITHOUT_MULTICAST = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
}
Member = Callable[[int, argparse.Namespace], Sequence[measure.Row]]  # takes its rank


def arguments(description: str, quick: str, explore: str) -> argparse.ArgumentParser:
    """A parser of the options that these benchmarks have; what ``--quick`` and ``--explore`` do is the help's text."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--check", action="store_true", help="compile everything and compare numbers, time nothing")
    parser.add_argument("--explore", action="store_true", help=explore)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", help=argparse.SUPPRESS)
    return parser


def run(name: str, parser: argparse.ArgumentParser, member: Member) -> None:
    """Run this program once for each GPU, and end with the worst exit status; within those run ``member``.

    What it returns in the first one is written as the benchmark ``name``.
    """
    options = parser.parse_args()
    if options.rank is not None:
        _be_a_member(name, options, member)
        return
    if torch.cuda.device_count() < WORLD:
        sys.exit("needs two GPUs")
    command = [sys.executable, *sys.argv, "--port", str(random.randint(20000, 50000))]
    environment = {**os.environ, **_WITHOUT_MULTICAST}
    members = [subprocess.Popen([*command, "--rank", str(rank)], env=environment) for rank in range(WORLD)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(max(abs(process.wait()) for process in members))
    finally:
        for process in members:
            process.kill()


def _be_a_member(name: str, options: argparse.Namespace, member: Member) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=options.port)
    torch.cuda.set_device(options.rank)
    device = torch.device("cuda", options.rank)
    dist.init_process_group("nccl", rank=options.rank, world_size=WORLD, device_id=device)
    rows = member(options.rank, options)
    if options.rank == 0:
        measure.write(name, rows, options)
    dist.destroy_process_group()
