"""The attribute that keeps the vectoriser away goes before code generation, and nothing else with it."""

import pytest

from tle_raw.linker.llvm.no_vectors import allow_vectors, keeps_scalars, without_no_vectors
from tle_raw.linker.llvm.text import read_module

pytestmark = pytest.mark.one_triton


def test_only_the_attribute_goes():
    text = (
        '@s = constant [16 x i8] c" noimplicitfloat"\nattributes #0 = { noimplicitfloat nounwind "nvvm.maxnreg"="168" }'
    )
    assert without_no_vectors(text) == text.replace("{ noimplicitfloat", "{")
    behind = "attributes #12 = { convergent noimplicitfloat nounwind }\nattributes #13 = { nounwind }"
    assert without_no_vectors(behind) == behind.replace(" noimplicitfloat", "")


def test_a_fragment_may_lose_it_from_its_definitions():
    text = "define void @f() nounwind noimplicitfloat {\n  ret void\n}\nattributes #0 = { noimplicitfloat nounwind }"
    assert allow_vectors(read_module(text)).text == text.replace(" noimplicitfloat", "")


def test_a_module_has_the_attribute_where_a_function_has_it():
    string = '@s = constant [16 x i8] c" noimplicitfloat"\n'
    assert not keeps_scalars(string + "attributes #0 = { nounwind }")
    assert keeps_scalars(string + "attributes #0 = { noimplicitfloat nounwind }")
    assert keeps_scalars("define void @f() noimplicitfloat {")  # which is not how LLVM prints it
