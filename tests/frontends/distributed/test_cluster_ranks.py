"""``ranks_by_gpc`` without a GPU: the order itself, its kernel's code, the CPU target's answer, and what is refused."""

from __future__ import annotations

import random
import re
import subprocess
from itertools import groupby

import numpy as np
import pytest
from triton import knobs
from triton.backends.nvidia.compiler import get_ptxas

from tests.frontends.distributed.test_active_clusters import programs, ranks
from tle_raw.distributed import ranks_by_gpc
from tle_raw.distributed.cluster_ranks import ranks_of
from tle_raw.distributed.placement import PTX, joined
from tle_raw.errors import ArgumentTypeError, MeshError


@pytest.fixture
def on_the_cpu(monkeypatch):
    import tle_raw

    monkeypatch.setattr(tle_raw.knobs, "target", "cpu")


def test_places_of_a_common_size_come_first():
    # Two places of three, one of four, and one of one: dealt out in turn.
    places = ["a", "b", "c", "d", "a", "b", "c", "a", "b", "c", "c"]
    order = sorted(range(len(places)), key=ranks_of(places).__getitem__)
    assert "".join(places[number] for number in order) == "aaabbbccccd"
    assert order == [0, 4, 7, 1, 5, 8, 2, 6, 9, 10, 3]


def test_all_have_a_rank_and_equal_places_follow_each_other():
    dice = random.Random(23)
    for _ in range(200):
        places = dice.choices(range(dice.randint(1, 9)), k=dice.randint(1, 70))
        found = ranks_of(places)
        assert sorted(found) == list(range(len(places)))
        walked = [places[number] for number in sorted(range(len(places)), key=found.__getitem__)]
        assert len(list(groupby(walked))) == len(set(places))


def test_sets_that_share_a_member_are_one():
    assert joined([(4, 5), (0, 1), (2, 3), (1, 2), (7, 6), (3, 0)]) == ({0, 1, 2, 3}, {4, 5}, {6, 7})
    assert joined([]) == ()


def test_random_sets_are_joined_as_a_graph_is():
    dice = random.Random(5)
    for _ in range(100):
        sets = [dice.sample(range(20), dice.randint(1, 3)) for _ in range(dice.randint(0, 12))]
        colour = list(range(20))
        for members in sets * 20:  # each member takes the smallest colour of its set, until nothing changes
            least = min(colour[member] for member in members)
            for member in members:
                colour[member] = least
        seen = {member for members in sets for member in members}
        parts = joined(sets)
        assert sorted(member for part in parts for member in part) == sorted(seen)
        assert {frozenset(m for m in seen if colour[m] == c) for c in {colour[m] for m in seen}} == set(parts)


def test_ptxas_takes_the_kernel_that_looks(tmp_path):
    source, cubin = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    source.write_text(PTX)
    ptxas = [get_ptxas(90).path, "-v", "-arch=sm_90", str(source), "-o", str(cubin)]
    said = subprocess.run(ptxas, check=True, capture_output=True, text=True).stderr
    assert said.count("Compiling entry function") == 1
    assert "0 bytes spill stores" in said
    code = subprocess.run([knobs.nvidia.nvdisasm.path, str(cubin)], check=True, capture_output=True, text=True).stdout
    assert "SR_VIRTUALSMID" in code
    assert not re.search(r"\bCALL\b", code)


@pytest.mark.usefixtures("on_the_cpu")
def test_on_the_cpu_clusters_have_their_ranks_in_order():
    kernel = ranks.warmup(np.zeros(4, np.int32), grid=(2,))
    assert ranks_by_gpc(kernel, 5) == (0, 1, 2, 3, 4)


@pytest.mark.usefixtures("on_the_cpu")
def test_a_kernel_without_clusters_is_refused():
    with pytest.raises(MeshError, match="kernel `programs` form no clusters"):
        ranks_by_gpc(programs.warmup(np.zeros(4, np.int32), grid=(2,)), 2)


@pytest.mark.parametrize("clusters", [0, -1, 2.0, True, None])
def test_what_is_no_number_of_clusters_is_refused(clusters):
    with pytest.raises(ArgumentTypeError, match="an integer of 1 or more"):
        ranks_by_gpc(ranks, clusters)


def test_what_is_no_compiled_kernel_is_refused():
    with pytest.raises(ArgumentTypeError, match="ranks_by_gpc asks for a compiled kernel"):
        ranks_by_gpc(ranks, 2)
