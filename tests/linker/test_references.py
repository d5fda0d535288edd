"""Who reaches whom."""

import pytest

from tests.linker.modules import FRAGMENT
from tle_raw.linker.llvm.references import reachable, recursive, references
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton


def test_names_in_strings_and_comments_are_no_references():
    graph = references(read_module(FRAGMENT))
    assert graph["_Z6helperf"] == {"llvm.nvvm.barrier0", "vprintf", ".str"}
    assert graph[".str"] == frozenset()


def test_a_string_over_several_lines_hides_the_names_in_it():
    text = 'define void @f() {\n  call void asm "a\n@g", ""()\n  call void @h()\n  call void asm "\n", ""()\n}\n'
    assert references(read_module(text))["f"] == {"h"}


def test_what_is_reached_indirectly_counts():
    graph = references(read_module(FRAGMENT))
    assert {"scratch", ".str", "vprintf"} <= reachable(graph, ["entry"])
    assert "unused" not in reachable(graph, ["entry"])


def test_cycles_are_recursive_and_their_callers_are_not():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}, "e": {"a"}, "f": set()}
    assert recursive(graph, graph) == {"b", "c", "d"}


def test_a_function_that_calls_itself_is_recursive():
    graph = references(read_module("define void @f() {\n  call void @f()\n  ret void\n}\n"))
    assert recursive(graph, graph) == {"f"}
