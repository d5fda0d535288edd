"""The order of a function's blocks: joins behind branches, what follows a loop behind the loop."""

from __future__ import annotations

import pytest

from tle_raw.emulation.control_flow import program_order, read_blocks
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton


def orders(graph: dict[str, str]):
    order = program_order({name: successors.split() for name, successors in graph.items()}, "")
    return order.names, order.loops


def test_a_join_stands_behind_both_sides():
    names, loops = orders({"": "then else", "then": "join", "else": "join", "join": "end", "end": ""})
    assert (names[0], names[3:], set(names[1:3]), loops) == ("", ["join", "end"], {"then", "else"}, [])


@pytest.mark.parametrize("head", ["exit body", "body exit"])
def test_what_follows_a_loop_stands_behind_it(head):
    names, loops = orders({"": "head", "head": head, "body": "head", "exit": ""})
    assert names == ["", "head", "body", "exit"]
    assert loops == [(frozenset({"head", "body"}), frozenset({"body"}))]


def test_loops_inside_of_loops():
    graph = {"": "outer", "outer": "inner end", "inner": "inner latch", "latch": "outer", "end": ""}
    names, loops = orders(graph)
    assert names == ["", "outer", "inner", "latch", "end"]
    assert loops == [
        (frozenset({"outer", "inner", "latch"}), frozenset({"latch"})),
        (frozenset({"inner"}), frozenset({"inner"})),
    ]


def test_a_deep_function_is_read():
    count = 5000
    names, _ = orders({"": "0", **{str(k): str(k + 1) for k in range(count)}, str(count): ""})
    assert names == ["", *map(str, range(count + 1))]


def test_blocks_of_a_definition():
    text = """define void @f(i32 %0) {
  switch i32 %0, label %2 [
    i32 1, label %"odd name"
    i32 2, label %2
  ]

2:                                                ; preds = %1
  br i1 undef, label %2, label %"odd name"

"odd name":
  ret void
}
"""
    module = read_module(text)
    blocks = read_blocks(module, next(module.of_kind("define")))
    assert {name: block.successors for name, block in blocks.items()} == {
        "": ("2", '"odd name"', "2"),
        "2": ("2", '"odd name"'),
        '"odd name"': (),
    }
    assert text[blocks[""].branch :].startswith("  switch")
