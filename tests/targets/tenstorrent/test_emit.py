"""The five files: their bytes, how expressions are printed, what is said where, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.targets.tenstorrent.hand_made import call, exponential_of_sum, matrix_product
from tle_raw.errors import LoweringError, SourceLocation, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.emit import emit
from tle_raw.targets.tenstorrent.emit.expressions import argument, expression
from tle_raw.targets.tenstorrent.ir import Bits, Buffer, Call, If, Int, Kernel, Let, Module, Op, Query, Var, Word
from tle_raw.targets.tenstorrent.kernel_api import release

pytestmark = pytest.mark.one_triton
TABLE = release()


def with_body(role: str, *body: object) -> Module:
    """A module of which one kernel has another body."""
    module = matrix_product()
    kernel = module.kernels[role]
    other = Kernel(kernel.role, kernel.compile_time_args, kernel.runtime_args, body)  # type: ignore[arg-type]
    return replace(module, kernels={**module.kernels, role: other})


def test_there_are_five_files_and_always_the_same_bytes() -> None:
    files = emit(matrix_product())
    assert list(files) == ["reader.cpp", "compute.cpp", "writer.cpp", "main.cpp", "tt.plan.json"]
    assert files == emit(matrix_product())
    assert all(text.endswith("\n") and "\t" not in text for text in files.values())


a, b, c = Var("a"), Var("b"), Var("c")
PRINTED = {
    "a + b + c": Op("+", Op("+", a, b), c),
    "a + (b + c)": Op("+", a, Op("+", b, c)),
    "a - (b - c)": Op("-", a, Op("-", b, c)),
    "(a + b) * c": Op("*", Op("+", a, b), c),
    "a * b + c": Op("+", Op("*", a, b), c),
    "a / (b * c)": Op("/", a, Op("*", b, c)),
    "a / b % c": Op("%", Op("/", a, b), c),
    "a + 1 < b * 2": Op("<", Op("+", a, Int(1)), Op("*", b, Int(2))),
    "(a < b) == c": Op("==", Op("<", a, b), c),
    "(a < b && b < c) || a == c": Op("||", Op("&&", Op("<", a, b), Op("<", b, c)), Op("==", a, c)),
    "a < b && (b < c || a == c)": Op("&&", Op("<", a, b), Op("||", Op("<", b, c), Op("==", a, c))),
    "(a < b ? a : b) + c": Op("+", Op("min", a, b), c),
    "4294967295u": Int(0xFFFFFFFF),
    "get_write_ptr(cb_x) + 2048": Op("+", Query("get_write_ptr", (Buffer("x"),)), Int(2048)),
}


@pytest.mark.parametrize("text", PRINTED)
def test_an_expression_has_the_parentheses_that_it_needs(text: str) -> None:
    assert expression(PRINTED[text], TABLE) == text


def test_what_is_no_unsigned_number_is_refused() -> None:
    for wrong in (Int(-1), Op("<<", a, b), Word("x")):
        with pytest.raises(LoweringError, match="no expression of unsigned numbers"):
            expression(wrong, TABLE)


def test_a_float_is_handed_over_as_the_operation_takes_it() -> None:
    assert argument(Bits(0.5), TABLE) == "0x3f000000u /* 0.5 */"
    assert argument(Bits(0.5), TABLE, as_number=True) == "0.5f"
    assert argument(Bits(-math.inf), TABLE, as_number=True) == "__builtin_bit_cast(float, 0xff800000u)"


def test_comments_name_the_users_lines_without_the_folders() -> None:
    place = SourceLocation("/home/somebody/kernel.py", 12, 4, "    T.gemm(a,  b, c)")
    text = emit(with_body("compute", Call("tile_regs_acquire", location=place)))["compute.cpp"]
    assert "    // kernel.py:12: T.gemm(a, b, c)\n    tile_regs_acquire();\n" in text
    assert "somebody" not in text


def test_only_what_a_kernel_mentions_is_declared() -> None:
    text = emit(with_body("writer", call("cb_wait_front", Buffer("out_C"), Int(1))))["writer.cpp"]
    assert "cb_out_C = tt::CBIndex::c_16;" in text
    assert "cb_in_A" not in text
    assert "count" not in text


def test_a_branch_has_both_of_its_ways() -> None:
    branch = If(Op("<", Var("count"), Int(2)), (Let("x", Int(1)),), (Let("x", Int(2)),))
    text = emit(with_body("compute", branch))["compute.cpp"]
    assert "if (count < 2) {\n        const uint32_t x = 1;\n    } else {\n        const uint32_t x = 2;\n    }" in text


def test_the_older_release_gets_its_own_spelling_and_headers() -> None:
    new, old = emit(matrix_product()), emit(matrix_product(), "0.70.1")
    assert "compute_kernel_hw_startup<SrcOrder::Reverse>(cb_in_A, cb_in_B, cb_out_C);" in new["compute.cpp"]
    assert "compute_kernel_hw_startup(cb_in_B, cb_in_A, cb_out_C);" in old["compute.cpp"]
    assert "mm_init_short(cb_in_A, cb_in_B);" in old["compute.cpp"]
    assert new["reader.cpp"].splitlines()[1:] == old["reader.cpp"].splitlines()[1:]


def test_an_operation_that_the_older_release_lacks_is_refused() -> None:
    body = call("sub_tiles_bcast_rows", Buffer("in_A"), Buffer("in_B"), Int(0), Int(0), Int(0))
    with pytest.raises(UnsupportedFeatureError, match="has no sub_tiles_bcast_rows"):
        emit(with_body("compute", body), "0.70.1")


def test_buffers_of_32_bits_that_are_only_copied_keep_all_of_them() -> None:
    text = emit(exponential_of_sum())["main.cpp"]
    assert "unpack_to_dest_mode[CBIndex::c_0] = UnpackToDestMode::UnpackToDestFp32;" in text
    assert "unpack_to_dest_mode" not in emit(matrix_product())["main.cpp"]


def test_a_conversion_that_main_cannot_do_is_refused() -> None:
    module = matrix_product()
    wrong = replace(module.tensors["A"], dtype="float32")
    with pytest.raises(LoweringError, match="A: no conversion"):
        emit(replace(module, tensors={**module.tensors, "A": wrong}))


def test_a_value_that_is_written_into_a_tile_is_known() -> None:
    body = call("write_scaler_tile", Buffer("in_A"), Var("count"), Word("DataFormat::Float16_b"))
    with pytest.raises(LoweringError, match="`count` is not"):
        emit(with_body("reader", body))


@pytest.mark.parametrize(("value", "word"), [(1.0, "0x3f80"), (1 / 3, "0x3eab"), (-math.inf, "0xff80")])
def test_a_scaler_is_rounded_to_the_format_of_its_buffer(value: float, word: str) -> None:
    body = call("write_scaler_tile", Buffer("in_A"), Bits(value), Word("DataFormat::Float16_b"))
    text = emit(with_body("reader", body))["reader.cpp"]
    assert f"write_scaler_tile<uint16_t>(cb_in_A, {word} /* {value!r} */);" in text
