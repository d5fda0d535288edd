"""The runtime's large functions reach a kernel as assembly: once, seen by no other code, whatever regions it has."""

from __future__ import annotations

import re

import pytest

from tle_raw.emulation.machine_code import assembly_module, without_large
from tle_raw.emulation.runtime import link_with_runtime, runtime_text
from tle_raw.host.code import Library, assemble, link_host_code
from tle_raw.linker.machine_code.elf import undefined_symbols
from tle_raw.linker.tools.clang import find_clang

CALLS = """
declare i32 @tle_team_run(ptr, ptr, ptr)
declare i64 @tle_team_warp(i32, i32, i64, i32, i32)
define i32 @NAME(ptr %call, ptr %args, ptr %region) {
  BODY
  ret i32 0
}
"""
RUN = "%r = call i32 @tle_team_run(ptr %call, ptr %args, ptr %region)"
SHUFFLE = "%w = call i64 @tle_team_warp(i32 -1, i32 0, i64 0, i32 0, i32 0)"


@pytest.fixture(scope="module")
def runtime() -> str:
    return runtime_text(find_clang())


def fragment(runtime: str, name: str, *calls: str) -> Library:
    text = CALLS.replace("NAME", name).replace("BODY", "\n  ".join(calls))
    return Library(name, link_with_runtime(text, runtime, (name,)))


def linked(*fragments: Library) -> str:
    calls = "\n".join(f"  %r{i} = call i32 @{f.name}(ptr %a, ptr %a, ptr %a)" for i, f in enumerate(fragments))
    declared = "\n".join(f"declare i32 @{f.name}(ptr, ptr, ptr)" for f in fragments)
    return link_host_code(f"{declared}\ndefine void @tle_launch(ptr %a) {{\n{calls}\n  ret void\n}}\n", fragments)


def copies(assembly: str, function: str) -> int:
    return len(re.findall(rf"^{function}\.\w+:", assembly, re.MULTILINE))


def test_two_fragments_that_call_the_same_share_a_copy(runtime: str) -> None:
    code = linked(fragment(runtime, "one", RUN), fragment(runtime, "two", RUN))
    assert copies(code, "tle_team_run") == 1


def test_fragments_that_call_other_functions_have_copies_of_their_own(runtime: str) -> None:
    code = linked(fragment(runtime, "one", RUN), fragment(runtime, "two", RUN, SHUFFLE))
    assert copies(code, "tle_team_run") == 2
    assert copies(code, "tle_team_warp") == 1


def test_the_kernel_exports_its_entry_alone_and_misses_nothing(runtime: str) -> None:
    code = linked(fragment(runtime, "one", RUN, SHUFFLE))
    assert re.findall(r"\.globl\s+(\S+)", code) == ["tle_launch"]
    assert not [name for name in undefined_symbols(assemble(code)) if "tle" in name]


def test_what_is_called_comes_with_all_that_it_reaches_and_nothing_else(runtime: str) -> None:
    without_warp, _ = assembly_module(runtime, frozenset(["tle_team_exit"]))
    assert "tle_team_exit." in without_warp
    assert "tle_team_run." not in without_warp


def test_variables_of_the_runtime_are_constants(runtime: str) -> None:
    """Small functions and large ones have copies of them: a value that one writes, the other would not see."""
    kinds = re.findall(r"^@\S+ = (?:\w+ )*?(global|constant) ", runtime, re.MULTILINE)
    assert kinds
    assert set(kinds) == {"constant"}


def test_small_functions_stay_to_be_inlined(runtime: str) -> None:
    small, large = without_large(runtime)
    assert "tle_team_run" in large
    assert re.search(r"^declare hidden .*@tle_team_run\(", small, re.MULTILINE)
    for name in ("tle_team_thread", "tle_team_add_f32", "tle_team_widen"):
        assert name not in large
        assert re.search(rf"^define .*@{name}\(", small, re.MULTILINE)
