"""Compiling products of buffers that a block is given comes to an end, and such products read the buffers in place.

Triton 3.6's software pipeliner follows the buffers of a ``wgmma`` in a loop to where they are made. At an argument of
another block than that loop's, as a partition has, it goes round for ever, and so it does where a loop's buffers change
places. No exception ends that, so that the kernels are compiled in a process of their own, whose time is bounded.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import torch

from tests.frontends.gpu.argument_kernels import KERNELS
from tests.started import run_python
from tests.support import TRITON

SECONDS = 200  # of all kernels together, which take some ten


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """What became of each kernel, by its name."""
    folder = tmp_path_factory.mktemp("products")
    try:
        done = run_python("-m", "tests.frontends.gpu.argument_kernels", folder, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        ended = [name for name in KERNELS if (folder / f"{name}.json").exists()]
        pytest.fail(f"compiling did not end within {SECONDS} s: {next(name for name in KERNELS if name not in ended)}")
    assert done.returncode == 0, done.stderr
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_a_product_reads_the_buffers_in_place_where_the_pipeliner_ends(compiled, name):
    ttgir, ptx = compiled[name]["ttgir"], compiled[name]["ptx"]
    assert ttgir.count("ttng.warp_group_dot %") == 1 and "wgmma.mma_async" in ptx
    # Triton 3.6 gets copies of them, if not the kernel itself waits for the product: the pipeliner sees no such kernel.
    copies = TRITON < (3, 7) and not name.endswith("wgmma")
    assert ("ttg.local_load" in ttgir) == copies
    assert bool(re.search(r"ttg\.local_alloc %", ttgir)) == copies  # of a tensor
    assert set(re.findall(r"wgmma\.wait_group\.sync\.aligned\s+(\d+)", ptx)) == {"0"}, "the next tile is stored there"


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_stored_into_a_buffer_is_fenced_by_who_stores_it(compiled, name):
    """Then the threads meet, or hand the buffer to another partition."""
    found = re.findall(r"st\.shared|fence\.proxy|bar\.sync|mbarrier\.arrive|wgmma\.mma", compiled[name]["ptx"])
    events = [event for event, before in zip(found, ["", *found]) if event != before]
    product = events.index("wgmma.mma")
    store = max(n for n in range(product) if events[n] == "st.shared")
    if "local_load" in compiled[name]["ttgir"] or name.startswith("handed_on"):
        assert events[store:product] == ["st.shared", "fence.proxy", "bar.sync"]
    else:
        arrival = events.index("mbarrier.arrive")
        assert events[arrival - 2 : arrival] == ["st.shared", "fence.proxy"]


@pytest.mark.parametrize("name", ["in_partition-dot", "handed_on-inner"])
def test_their_sums_are_right(name):
    kernel, how = KERNELS[name]
    for n in (0, 1, 4):
        x = torch.randn(n + 1, 32, 32, generator=torch.Generator().manual_seed(n)).half()
        c = torch.full((32, 32), float("nan"))
        kernel[(1,)](x, c, n, 32, how)
        expected = (x[:-1].double() @ x[1:].double()).sum(0) * (n if how == "inner" else 1)
        torch.testing.assert_close(c.double(), expected, rtol=1e-4, atol=1e-3)
