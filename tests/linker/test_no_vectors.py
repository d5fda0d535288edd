"""The attribute that keeps the vectoriser away goes before code generation, and nothing else with it."""

import pytest

from tle_raw.linker.llvm.no_vectors import optimised

pytestmark = pytest.mark.one_triton


def test_only_the_attribute_goes():
    text = (
        '@s = constant [16 x i8] c" noimplicitfloat"\nattributes #0 = { noimplicitfloat nounwind "nvvm.maxnreg"="168" }'
    )
    assert optimised(text) == text.replace("{ noimplicitfloat", "{")
    behind = "attributes #12 = { convergent noimplicitfloat nounwind }\nattributes #13 = { nounwind }"
    assert optimised(behind) == behind.replace(" noimplicitfloat", "")
