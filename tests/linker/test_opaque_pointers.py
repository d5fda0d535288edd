"""Typed pointers of older LLVM IR become opaque ones, wherever a type may stand."""

import pytest

from tle_raw.linker.llvm.opaque_pointers import opaque_pointers
from tle_raw.linker.llvm.text import UnreadableIRError

pytestmark = pytest.mark.one_triton

TYPED = """
%"pair" = type {i8*, [2 x float*]}
@"a*b" = internal addrspace(3) global [4 x float] undef
@table = global i32 (i8*, ...)* null
declare i32 (i8*, ...)* @chosen(i8**, <2 x i32*> %v)
define i8* @"f"(float addrspace(1)* %"p*", %"pair"* %q) {
entry:
  %cast = addrspacecast [4 x float] addrspace(3)* @"a*b" to i8* ; float* in a comment
  %slot = getelementptr inbounds {i8*, i8*, [1 x i64]}, {i8*, i8*, [1 x i64]}* null, i32 0, i32 1
  %v = load i8*, i8** %slot
  store float 0x3FB99999A0000000, float addrspace(1)* %"p*"
  ret i8* %cast
}
"""


def test_every_pointer_is_opaque_and_nothing_else_changes():
    text = opaque_pointers(TYPED)
    assert '%"pair" = type {ptr, [2 x ptr]}' in text
    assert "@table = global ptr null" in text
    assert "declare ptr @chosen(ptr, <2 x ptr> %v)" in text
    assert 'define ptr @"f"(ptr addrspace(1) %"p*", ptr %q)' in text
    assert 'addrspacecast ptr addrspace(3) @"a*b" to ptr ; float* in a comment' in text
    assert "getelementptr inbounds {ptr, ptr, [1 x i64]}, ptr null" in text
    assert opaque_pointers(text) == text


def test_llvm_reads_the_result():
    llvm = pytest.importorskip("llvmlite.binding")
    with llvm.create_context() as context, llvm.parse_assembly(opaque_pointers(TYPED), context=context) as module:
        module.verify()


@pytest.mark.parametrize("text", ["* @x = global i8 0", "@x = global =* 0", "@x = global )* 0"])
def test_a_star_behind_no_type_is_refused(text):
    with pytest.raises(UnreadableIRError):
        opaque_pointers(text)
