"""Two processes with a GPU each: by torch's symmetric memory, and by CUDA's inter-process handles without it."""

import os
import random
import signal
import subprocess
import sys

import pytest
import torch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]

# NVLink's multicast stays off, in torch and in NCCL.
OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
LIMIT = 100  # seconds


@pytest.mark.parametrize("memory", ["torch", "ipc"])
@pytest.mark.parametrize(
    "names",
    [
        ["disagree", "many_rounds", "ring", "signals_that_are_set", "collectives", "two_steps_again_and_again"],
        ["dies"],
    ],
    ids=["together", "one_dies"],
)
def test_what_two_processes_do_together(memory, names, tmp_path):
    port = str(random.randint(20000, 50000))
    command = [sys.executable, "-m", "tests.gpu.two_gpus.member"]
    processes = [
        subprocess.Popen(
            [*command, str(rank), memory, str(tmp_path / "exchange"), port, *names],
            env={**os.environ, **OFF},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        for rank in range(2)
    ]
    said = []
    for process in processes:
        try:
            said.append(process.communicate(timeout=LIMIT)[0])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said.append(process.communicate()[0] + f"\nnot done after {LIMIT} s")
    text = "\n".join(f"--- rank {rank}\n{one[-4000:]}" for rank, one in enumerate(said))
    assert [process.returncode for process in processes] == [0, 0], text
    for one in said:
        assert [f"{name}: right" in one for name in names] == [True] * len(names), text
