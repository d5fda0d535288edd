"""The whole chain, on text alone."""

import pytest

from tests.linker.modules import ENTRY_PARAMETERS, FRAGMENT
from tle_raw.errors import AbiError, UnsupportedFeatureError
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.prepare import link_edits, prepare

pytestmark = pytest.mark.one_triton


def prepared(text=FRAGMENT, inline=True, **options):
    edit = link_edits("entry", inline=inline, **options)
    return prepare(text, entry="entry", parameters=ENTRY_PARAMETERS, result="float", edit=edit, inline=inline)


def with_body(body, declarations=""):
    return prepare(
        f"define i32 @e() {{\n{body}\n  ret i32 0\n}}\n{declarations}\n",
        entry="e",
        parameters=(),
        result="i32",
        edit=link_edits("e"),
    )


def test_facts_of_the_fragment_are_told():
    module = prepared()
    assert module.static_shared == (SharedVariable("scratch", 96, 8),)
    assert module.uses_barrier
    assert module.instructions == 13
    assert module.kept_calls == ("_Z4kepti", "vprintf")


def test_an_entry_that_is_not_inlined_is_a_kept_call():
    assert "entry" in prepared(inline=False).kept_calls


def test_recursion_is_a_kept_call():
    module = with_body("  %x = call i32 @r()", "define i32 @r() {\n  %x = call i32 @r()\n  ret i32 %x\n}")
    assert module.kept_calls == ("r",)


def test_the_text_is_normalised_and_private():
    text = prepared(older_llvm=True).text
    assert "target-cpu" not in text
    assert "@_Z6helperf$entry" in text
    assert "nocreateundeforpoison" not in text
    assert read_module(text).entities


def test_types_are_checked_before_anything_is_made():
    with pytest.raises(AbiError):
        prepare(FRAGMENT, entry="entry", parameters=(), result="float", edit=None)


def test_extern_shared_is_refused():
    text = FRAGMENT.replace(
        "internal unnamed_addr addrspace(3) global [3 x %struct.S] undef",
        "external addrspace(3) global [0 x %struct.S]",
    )
    with pytest.raises(UnsupportedFeatureError, match="scratch"):
        prepared(text)


@pytest.mark.parametrize(
    ("body", "declarations", "expected"),
    [
        ('  call void asm sideeffect "bar.sync 0;", ""()', "", True),
        ('  call void asm sideeffect "bar.warp.sync 1;", ""()', "", False),
        (
            "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
            "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
            True,
        ),
        ("  call void @llvm.nvvm.bar.warp.sync(i32 1)", "declare void @llvm.nvvm.bar.warp.sync(i32)", False),
        ("  ; asm bar.sync", "", False),
    ],
)
def test_block_barriers_are_seen(body, declarations, expected):
    assert with_body(body, declarations).uses_barrier is expected
