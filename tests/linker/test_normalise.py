"""Only what blocks linking or inlining goes; every other byte stays."""

import difflib

import pytest

from tests.linker.modules import FRAGMENT
from tle_raw.linker.llvm.normalise import normalise
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton


def changes(old, new):
    """The lines that go, and those that come in their places."""
    compared = list(difflib.ndiff(old.splitlines(), new.splitlines()))
    return ([line[2:] for line in compared if line.startswith(mark)] for mark in "-+")


def test_only_the_debug_version_flag_stays():
    assert "!llvm.module.flags = !{!1}\n" in normalise(read_module(FRAGMENT)).text


def test_flags_vanish_without_debug_info():
    text = normalise(read_module(FRAGMENT), keep_debug_info=False).text
    assert "llvm.module.flags" not in text
    assert "llvm.dbg.cu" not in text
    assert "!dbg" not in text


def test_ident_and_kernel_annotations_go():
    text = normalise(read_module(FRAGMENT)).text
    assert "llvm.ident" not in text
    assert "nvvm.annotations" not in text


def test_target_attributes_go_and_others_stay():
    text = normalise(read_module(FRAGMENT)).text
    assert 'attributes #0 = { convergent nounwind "frame-pointer"="all" }' in text
    assert "tune-cpu" not in text


def test_debug_units_take_the_kind_of_tritons():
    text = normalise(read_module(FRAGMENT)).text
    assert "emissionKind: LineTablesOnly" in text
    assert "DebugDirectivesOnly" not in text


def test_nothing_else_changes():
    gone, come = changes(FRAGMENT, normalise(read_module(FRAGMENT)).text)
    edited = ["attributes #0", "attributes #1", "!llvm.module.flags", "!2 = distinct !DICompileUnit"]
    assert [line.partition(" =")[0] for line in gone] == [
        *edited[:3], "!llvm.ident", "!nvvm.annotations", edited[3].partition(" =")[0],
    ]  # fmt: skip
    assert [line.partition(" =")[0] for line in come] == [*edited[:3], edited[3].partition(" =")[0]]


def test_normalising_twice_is_normalising_once():
    once = normalise(read_module(FRAGMENT), older_llvm=True).text
    assert normalise(read_module(once), older_llvm=True).text == once


def test_newer_spellings_stay_unless_asked():
    assert "nocreateundeforpoison" in normalise(read_module(FRAGMENT)).text


def test_older_llvm_gets_older_spellings():
    text = FRAGMENT + "declare float @llvm.nvvm.ex2.approx.ftz.f32(float)\n"
    text += "declare float @g(float) memory(target_mem0: none, argmem: read) memory(target_mem0: none)\n"
    text = normalise(read_module(text), older_llvm=True).text
    assert "attributes #1 = { nounwind memory(read) }" in text
    assert "@llvm.nvvm.ex2.approx.ftz.f(float)" in text
    assert "memory(argmem: read)" in text


def test_strings_that_look_like_attributes_stay():
    text = '@s = constant [3 x i8] c"\\22target-cpu\\22 nocreateundeforpoison"\n'
    assert normalise(read_module(text), older_llvm=True).text == text


def test_the_result_can_be_read_again():
    for keep in (True, False):
        assert read_module(normalise(read_module(FRAGMENT), keep_debug_info=keep).text).entities
