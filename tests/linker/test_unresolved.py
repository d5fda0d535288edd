"""Undefined symbols are found before the link, which would end the process."""

import pytest

from tests.linker.modules import FRAGMENT
from tle_raw.errors import UnresolvedSymbolError, UnsupportedFeatureError
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.unresolved import check_resolved, libdevice_functions

pytestmark = pytest.mark.one_triton


def calling(name, declaration="i32"):
    return f"define void @e() {{\n  %x = call i32 @{name}()\n  ret void\n}}\ndeclare {declaration} @{name}()\n"


def test_declarations_that_nobody_uses_are_no_trouble():
    check_resolved(read_module(FRAGMENT))


@pytest.mark.parametrize("name", ["llvm.nvvm.barrier0", "vprintf", "__assertfail", "malloc", "free", "__nvvm_reflect"])
def test_intrinsics_and_the_runtime_are_known(name):
    check_resolved(read_module(calling(name)))


@pytest.mark.parametrize("name", ["__nv_sinf", "__nv_sincosf", "__nv_fmaxf", "__nv_exp"])
def test_libdevice_is_known(name):
    assert name in libdevice_functions()
    check_resolved(read_module(calling(name)))


def test_a_misspelled_libdevice_function_is_refused():
    with pytest.raises(UnresolvedSymbolError, match="__nv_sinus"):
        check_resolved(read_module(calling("__nv_sinus")))


def test_unknown_functions_are_named_as_the_author_wrote_them():
    with pytest.raises(UnresolvedSymbolError, match=r"`nowhere\(double\)` is defined nowhere") as caught:
        check_resolved(read_module(calling("_Z7nowhered")))
    assert "`e`" in caught.value.table[0].got


def test_only_what_the_entry_reaches_counts():
    text = calling("_Z7nowhered") + "define void @other() {\n  ret void\n}\n"
    check_resolved(read_module(text), "other")


def test_undefined_variables_are_refused():
    body = "define i32 @e() {\n  %v = load i32, ptr addrspace(1) @x\n  ret i32 %v\n}\n"
    text = "@x = external addrspace(1) global i32\n" + body
    with pytest.raises(UnresolvedSymbolError, match="`x`"):
        check_resolved(read_module(text))


@pytest.mark.parametrize("name", ["cudaLaunchDeviceV2", "cudaGetParameterBufferV2", "__cudaCDP2LaunchDevice"])
def test_dynamic_parallelism_is_named(name):
    with pytest.raises(UnsupportedFeatureError, match="dynamic parallelism"):
        check_resolved(read_module(calling(name)))


def test_host_functions_get_a_hint():
    with pytest.raises(UnresolvedSymbolError) as caught:
        check_resolved(read_module(calling("cudaMemcpy")))
    assert "host" in caught.value.hint


def test_a_given_list_of_libdevice_names_is_used():
    check_resolved(read_module(calling("__nv_own")), libdevice={"__nv_own"})
