"""Two processes with a GPU each as two nodes: what goes between them goes by NVSHMEM's device library."""

import os
import signal
import subprocess
import sys

import pytest
import torch

from tle_raw.errors import ToolchainError
from tle_raw.linker.tools.nvshmem import find_nvshmem


def _is_installed() -> bool:
    try:
        return bool(find_nvshmem())
    except ToolchainError:
        return False


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
    pytest.mark.skipif(not _is_installed(), reason="needs NVSHMEM's wheel, which torch brings"),
]

OFF = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
LIMIT = 150  # seconds; NVSHMEM's functions are large, and the first kernel of a kind takes some to compile


@pytest.mark.parametrize(
    "names",
    [
        ["barriers_along", "scattered", "many_rounds", "pointers", "other_nodes", "what_is_linked", "another_group"],
        ["flagtree"],
        ["tiles"],
        ["one_node_many_rounds", "one_node_ring", "one_node_collectives"],
        ["nobody_comes"],
    ],
    ids=["together", "flagtree", "tiles", "one_node", "nobody_comes"],
)
def test_what_two_nodes_do_together(names, tmp_path):
    command = [sys.executable, "-m", "tests.gpu.two_gpus.node_member"]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "exchange"), *names],
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
