"""Wrong types are an error of ours, with a table."""

import pytest

from tests.linker.modules import ENTRY_PARAMETERS, FRAGMENT
from tle_raw.errors import AbiError, SymbolError
from tle_raw.linker.abi import check_entry, function_type
from tle_raw.linker.llvm.text import read_module
from tle_raw.linker.machine_code.demangle import demangle

pytestmark = pytest.mark.one_triton


def test_attributes_are_no_part_of_a_type():
    assert function_type(read_module(FRAGMENT), "entry").parameters == ENTRY_PARAMETERS
    assert function_type(read_module(FRAGMENT), "entry").result == "float"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("signext i16 @f(i8 zeroext %0, ptr byval(%S) align 8 %1)", "i16 (i8, ptr)"),
        ("noundef nonnull align 8 dereferenceable(4) ptr @f()", "ptr ()"),
        ("internal fastcc { i32, [2 x half] } @f(<4 x float> noundef)", "{ i32, [2 x half] } (<4 x float>)"),
        ("range(i32 0, 9) i32 @f(<{ i8, i32 }> %0, ...)", "i32 (<{ i8, i32 }>, ...)"),
        (
            '"key"="value" void @f(ptr addrspace(3) captures(address, read_provenance) "a"="b")',
            "void (ptr addrspace(3))",
        ),
        ('%"a b" @f(bfloat nofpclass(nan inf) %x)', '%"a b" (bfloat)'),
        ("ptx_kernel void @f(ptr sret([2 x i8]) %0)", "void (ptr)"),
    ],
)
def test_headers_of_all_shapes_are_read(header, expected):
    assert str(function_type(read_module(f"define {header} {{\n  ret void\n}}\n"), "f")) == expected


def test_a_fitting_entry_passes():
    check_entry(read_module(FRAGMENT), "entry", ENTRY_PARAMETERS, "float")


def test_a_wrong_parameter_is_shown_in_a_table():
    with pytest.raises(AbiError) as caught:
        check_entry(read_module(FRAGMENT), "entry", ("ptr addrspace(1)", "i64", "i1"), "float")
    assert [(row.what, row.expected, row.got) for row in caught.value.table if row.differs] == [
        ("parameter 2", "i64", "i32")
    ]


def test_missing_and_superfluous_parameters_are_shown():
    with pytest.raises(AbiError) as caught:
        check_entry(read_module(FRAGMENT), "entry", ENTRY_PARAMETERS[:2], "float")
    assert caught.value.table[3].expected == "nothing"
    assert "takes 3" in caught.value.hint


def test_a_generic_pointer_gets_a_hint():
    with pytest.raises(AbiError) as caught:
        check_entry(read_module("define i32 @f(ptr %p) { ret i32 0 }"), "f", ["ptr addrspace(1)"], "i32")
    assert "address_space(1)" in caught.value.hint


def test_a_kernel_is_no_device_function():
    with pytest.raises(AbiError, match="does not take") as caught:
        check_entry(read_module("define ptx_kernel void @f() { ret void }"), "f", [], "void")
    assert "__device__" in caught.value.hint


def test_a_missing_entry_names_the_mangled_one():
    with pytest.raises(SymbolError) as caught:
        check_entry(read_module(FRAGMENT), "helper", (), "float")
    assert "helper(float)" in caught.value.hint
    assert 'extern "C"' in caught.value.hint


def test_a_missing_entry_names_near_ones():
    with pytest.raises(SymbolError) as caught:
        check_entry(read_module(FRAGMENT), "entri", (), "float")
    assert "`entry`" in caught.value.hint


def test_names_that_cannot_be_demangled_stay():
    assert demangle("_Znonsense") == "_Znonsense"
    assert demangle("plain") == "plain"
    assert demangle("_Z6helperf") == "helper(float)"
