"""What somebody may have meant by a name that nothing has."""

import pytest

from tle_raw.adapters.common.device_llvm.callee import find_callee
from tle_raw.errors import SourceLocation, SymbolError
from tle_raw.linker.abi import _missing
from tle_raw.linker.llvm.text import read_module
from tle_raw.near_names import did_you_mean, near_names

pytestmark = pytest.mark.one_triton


def test_each_name_is_told_once():
    assert near_names("scal", ["scale", "other", "scale", "scales"]) == ["scale", "scales"]


def test_a_repeat_takes_no_other_names_place():
    assert near_names("abcd", ["abcde", "abcde", "abcdef"], 2) == ["abcde", "abcdef"]


def test_of_two_spellings_of_one_thing_the_nearest_is_told():
    assert near_names("scal", ["scale", "_scale"], meaning=lambda name: name.strip("_")) == ["scale"]


def test_a_hint_says_what_was_meant_or_what_there_is():
    assert did_you_mean("tils", ["tile", "block"], "it has tile, block", quote="`") == "did you mean `tile`?"
    assert did_you_mean("zzz", ["tile", "block"], "it has tile, block") == "it has tile, block"
    assert did_you_mean("zzz", []) == ""


def test_a_linked_functions_near_name_is_told_once():
    error = _missing(read_module("define void @scale() {\n  ret void\n}\n"), "scales")
    assert isinstance(error, SymbolError)
    assert error.hint == "there is `scale`"


def test_a_symbols_near_name_is_told_once():
    module = read_module("define void @scale() {\n  ret void\n}\n")
    with pytest.raises(SymbolError) as error:
        find_callee(module, "scales", SourceLocation("a.ll", 1))
    assert error.value.hint == "did you mean scale? Write symbol='scale'"
