"""The plan: what it says, what it refuses, and that every block of the outputs is computed once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.targets.tenstorrent.hand_made import matrix_product
from tle_raw.targets.tenstorrent.core_ranges import core_ranges
from tle_raw.targets.tenstorrent.ir import Module, WorkItem
from tle_raw.targets.tenstorrent.plan import Plan, PlanError, plan_of, read_plan, write_plan

pytestmark = pytest.mark.one_triton


def fields_of(module: Module) -> dict[str, Any]:
    return dict(json.loads(write_plan(plan_of(module, release="0.81.1"))))


def test_a_plan_has_the_documented_fields() -> None:
    fields = fields_of(matrix_product(70, 96, 64, cores=(2, 2)))
    assert fields["schema_version"] == 1
    assert fields["core_grid"] == [2, 2]
    assert fields["core_ranges"] == [{"start": [0, 0], "extent": [2, 2]}]
    assert fields["work_partition"]["(1,0)"] == [
        {"io": 0, "jo": 1, "batch": 0, "len_k": None, "tile_order": "row_major"},
        {"io": 1, "jo": 0, "batch": 0, "len_k": None, "tile_order": "row_major"},
    ]
    assert fields["layouts"]["A"]["tile_shape"] == [32, 32]
    assert fields["runtime_args"]["(1,0)"] == {"start_id": 1, "count": 2, "Kt": 3, "Nt": 2}


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = plan_of(matrix_product(), release="0.81.1", backend_version="0.1.0")
    assert read_plan(write_plan(plan)) == plan
    assert write_plan(read_plan(write_plan(plan))) == write_plan(plan)


DAMAGE: dict[str, tuple[Any, str, str]] = {
    "no version": (lambda plan: plan.pop("schema_version"), "schema_version", "required"),
    "version 0": (lambda plan: plan.update(schema_version=0), "schema_version", "1 or more"),
    "a version that is a word": (lambda plan: plan.update(schema_version="1"), "schema_version", "an integer"),
    "a version that is true": (lambda plan: plan.update(schema_version=True), "schema_version", "an integer"),
    "a grid of three": (lambda plan: plan.update(core_grid=[2, 2, 1]), "core_grid", "2 integers"),
    "no ranges": (lambda plan: plan.update(core_ranges={}), "core_ranges", "a list of objects"),
    "a range outside": (
        lambda plan: plan.update(core_ranges=[{"start": [1, 1], "extent": [2, 1]}]),
        "core_ranges[0]",
        "within 2 x 2",
    ),
    "a range before the first core": (
        lambda plan: plan.update(core_ranges=[{"start": [-1, 0], "extent": [2, 2]}]),
        "core_ranges[0].start",
        "0 or more",
    ),
    "a core that is no core": (
        lambda plan: plan["work_partition"].update({"0,0": []}),
        "work_partition.0,0",
        'a core as "(x,y)"',
    ),
    "a core outside of the ranges": (
        lambda plan: plan["work_partition"].update({"(5,0)": []}),
        "work_partition.(5,0)",
        "a core of core_ranges",
    ),
    "an item without a row": (
        lambda plan: plan["work_partition"]["(0,0)"][0].pop("io"),
        "work_partition.(0,0)[0].io",
        "required",
    ),
    "an unknown order": (
        lambda plan: plan["work_partition"]["(0,0)"][0].update(tile_order="zigzag"),
        "work_partition.(0,0)[0].tile_order",
        "row_major",
    ),
    "layouts that are a list": (lambda plan: plan.update(layouts=[]), "layouts", "an object"),
    "a block twice": (
        lambda plan: plan["work_partition"]["(0,0)"].append({"io": 2, "jo": 1}),
        "work_partition.(1,1)",
        "block (0, 2, 1) once",
    ),
    "a block left out": (
        lambda plan: plan["work_partition"]["(0,0)"].pop(),
        "work_partition",
        "the first is (0, 0, 0)",
    ),
    "a block outside": (
        lambda plan: plan["work_partition"]["(0,0)"].append({"io": 0, "jo": 2}),
        "work_partition.(0,0)",
        "within (1, 3, 2)",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_plan_is_refused_with_file_and_key(name: str) -> None:
    damage, key, words = DAMAGE[name]
    fields = fields_of(matrix_product(70, 96, 64, cores=(2, 2)))
    damage(fields)
    with pytest.raises(PlanError) as raised:
        read_plan(json.dumps(fields), "OUT/tt.plan.json")
    text = str(raised.value)
    assert "OUT/tt.plan.json" in text
    assert f"`{key}`" in text
    assert words in text


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(PlanError, match="is not JSON"):
        read_plan("{", "x.json")


cores = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))


@given(cores)
@settings(deadline=None, max_examples=100)
def test_ranges_hold_each_core_once(chosen: set[tuple[int, int]]) -> None:
    held = [core for each in core_ranges(chosen) for core in each.cores()]
    assert sorted(held) == sorted(chosen)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_any_partition_is_accepted_and_any_move_of_a_block_is_noticed(data: st.DataObject) -> None:
    grid = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 3)))
    blocks = [WorkItem(i, j, b) for b in range(grid[2]) for i in range(grid[1]) for j in range(grid[0])]
    places = data.draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=len(blocks), max_size=len(blocks))
    )
    work: dict[tuple[int, int], list[WorkItem]] = {place: [] for place in places}
    for place, block in zip(places, data.draw(st.permutations(blocks))):
        work[place].append(block)
    plan = Plan((4, 3), tuple(core_ranges(work)), {core: tuple(items) for core, items in work.items()}, {}, grid)
    assert read_plan(write_plan(plan)) == plan
    fields = json.loads(write_plan(plan))
    items = fields["work_partition"][data.draw(st.sampled_from(sorted(fields["work_partition"])))]
    item = data.draw(st.sampled_from(items))
    coordinate = data.draw(st.sampled_from(("io", "jo", "batch")))
    item[coordinate] += data.draw(st.integers(1, 6))
    with pytest.raises(PlanError, match="work_partition"):
        read_plan(json.dumps(fields))
