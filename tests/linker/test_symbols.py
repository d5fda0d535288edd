"""One visible symbol per fragment; helpers never meet those of others."""

import pytest

from tests.linker.modules import FRAGMENT
from tle_raw.errors import UnsupportedFeatureError
from tle_raw.linker.llvm.symbols import (
    declarations,
    definitions,
    original_name,
    private_name,
    privatise,
    refuse_unlinkable,
)
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton


def header(text, name):
    module = read_module(text)
    entity = next(e for e in module.entities if e.name == name and e.kind in ("define", "global"))
    return module.text[entity.start : entity.body].strip()


@pytest.fixture
def private():
    return privatise(read_module(FRAGMENT), "entry").text


def test_the_entry_keeps_its_name_and_is_external(private):
    assert header(private, "entry").startswith("define float @entry(")
    assert "alwaysinline #1" in header(private, "entry")


def test_linkonce_helpers_become_internal(private):
    found = header(private, "_Z6helperf$entry")
    assert found.startswith("define internal noundef float")
    assert "alwaysinline #0" in found
    assert "comdat" not in private


def test_a_noinline_helper_stays_noinline(private):
    found = header(private, "_Z4kepti$entry")
    assert "noinline" in found
    assert "alwaysinline" not in found


def test_variables_become_internal_and_are_renamed(private):
    assert header(private, "table$entry").startswith("@table$entry = internal addrspace(4) externally_init")
    assert header(private, "scratch$entry").startswith("@scratch$entry = internal unnamed_addr addrspace(3)")
    assert header(private, ".str$entry").startswith("@.str$entry = private unnamed_addr constant")


def test_keep_alive_lists_go(private):
    assert "llvm.used" not in private


def test_declarations_keep_their_names(private):
    assert "@vprintf(ptr @.str$entry" in private
    assert "@llvm.nvvm.barrier0()" in private


def test_names_in_strings_and_comments_stay(private):
    assert 'c"@f { ; \\22\\0A\\00"' in private
    assert "; calls @nobody and { never closes" in private


def test_metadata_follows_the_new_names():
    assert "ptr @entry$_Z4kepti" in privatise(read_module(FRAGMENT), "_Z4kepti").text


def test_an_entry_that_was_noinline_is_inlined_when_asked():
    text = privatise(read_module(FRAGMENT), "_Z4kepti").text
    found = header(text, "_Z4kepti")
    assert "noinline" not in found
    assert "#2" in found
    assert "attributes #2 = { alwaysinline nounwind" in text


def test_an_entry_is_kept_apart_when_asked():
    found = header(privatise(read_module(FRAGMENT), "entry", inline=False).text, "entry")
    assert "noinline #1" in found
    assert "alwaysinline" not in found


def test_a_shared_attribute_group_keeps_its_words():
    functions = "define void @a() #0 { ret void }\ndefine void @b() #0 { ret void }\n"
    text = functions + "attributes #0 = { noinline nounwind }\n"
    private = privatise(read_module(text), "a").text
    assert "attributes #0 = { noinline nounwind }" in private
    assert "attributes #1 = { alwaysinline nounwind }" in private
    assert header(private, "b$a").endswith("#0")


@pytest.mark.parametrize(
    "linkage", ["linkonce_odr", "weak", "weak_odr", "linkonce", "available_externally", "common", ""]
)
@pytest.mark.parametrize("visibility", ["hidden", "protected", "dso_local", ""])
def test_every_linkage_becomes_internal(linkage, visibility):
    variable = f"@g = {linkage} {visibility} global i32 0, comdat($g), align 4\n$g = comdat any\n"
    text = variable + "define void @e() { ret void }\n"
    private = privatise(read_module(text), "e").text
    assert header(private, "g$e").split()[:4] == ["@g$e", "=", "internal", "global"]
    assert "comdat" not in private


def test_aliases_become_internal():
    text = "define void @e() { ret void }\n@a = weak alias void (), ptr @e\n"
    assert "@a$e = internal alias void (), ptr @e" in privatise(read_module(text), "e").text


@pytest.mark.parametrize(
    "text",
    [
        'module asm ".global .u32 x;"\n',
        "@llvm.global_ctors = appending global [0 x i8] zeroinitializer\n",
        "@f = ifunc void (), ptr @r\n",
    ],
)
def test_what_cannot_be_linked_is_refused(text):
    with pytest.raises(UnsupportedFeatureError):
        refuse_unlinkable(read_module(text + "define void @e() { ret void }\n"))


def test_functions_are_listed_with_types_and_lines():
    entry = definitions(read_module(FRAGMENT))[2]
    assert (entry.name, str(entry.type)) == ("entry", "float (ptr addrspace(1), i32, i1)")
    assert FRAGMENT.splitlines()[entry.line - 1].startswith("define dso_local float @entry")
    assert [symbol.name for symbol in declarations(read_module(FRAGMENT))] == [
        "llvm.nvvm.barrier0",
        "vprintf",
        "_Z7nowhered",
    ]


def test_original_names_come_back():
    assert original_name(private_name("_Z1fv", "entry"), "entry") == "_Z1fv"
