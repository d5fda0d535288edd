"""The tables of the kernel API's releases: spellings, headers, what one of them lacks."""

from __future__ import annotations

import pytest

from tle_raw.errors import LoweringError, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.kernel_api import OPERATIONS, RELEASES, Unit, release

pytestmark = pytest.mark.one_triton


def test_the_newest_release_is_the_default() -> None:
    assert release().name == "0.81.1"


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="unknown release") as raised:
        release("0.60.0")
    assert "0.70.1" in str(raised.value)


SPELLED = {
    ("compute_kernel_hw_startup", ("a", "b", "c"), ("SrcOrder::Reverse",)): (
        "compute_kernel_hw_startup<SrcOrder::Reverse>(a, b, c)",
        "compute_kernel_hw_startup(b, a, c)",
    ),
    ("matmul_init", ("a", "b"), ()): ("matmul_init(a, b)", "mm_init_short(a, b)"),
    ("matmul_tiles", ("a", "b", "0", "1", "2"), ()): ("matmul_tiles(a, b, 0, 1, 2)", "matmul_tiles(a, b, 0, 1, 2)"),
    ("add_init", ("a", "b"), ()): ("add_init(a, b)", "add_tiles_init(a, b)"),
    ("mul_bcast_scalar_init", ("a", "b"), ()): (
        "mul_bcast_scalar_init(a, b)",
        "mul_tiles_bcast_scalar_init_short(a, b)",
    ),
    ("transpose_tile", ("a", "0", "1"), ()): ("transpose_tile(a, 0, 1)", "transpose_wh_tile(a, 0, 1)"),
    ("sub_reuse_dest_tiles", ("a", "0", "1"), ("D",)): (
        "sub_reuse_dest_tiles<D>(a, 0, 1)",
        "binary_dest_reuse_tiles<EltwiseBinaryType::ELWSUB, D>(a, 0, 1)",
    ),
    ("gelu_tile", ("0",), ()): ("gelu_tile<false>(0)", "gelu_tile<false>(0)"),
    ("reduce_tile", ("a", "s", "0", "0", "1"), ("PoolType::SUM", "ReduceDim::REDUCE_ROW")): (
        "reduce_tile<PoolType::SUM, ReduceDim::REDUCE_ROW>(a, s, 0, 0, 1)",
    )
    * 2,
}


@pytest.mark.parametrize("call", SPELLED, ids=lambda call: call[0])
def test_a_call_is_spelled_as_each_release_has_it(call: tuple[str, tuple[str, ...], tuple[str, ...]]) -> None:
    assert (release("0.81.1").spell(*call), release("0.70.1").spell(*call)) == SPELLED[call]


def test_what_a_release_lacks_is_refused_by_its_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"0\.70\.1 .* has no sub_tiles_bcast_rows"):
        release("0.70.1").spell("sub_tiles_bcast_rows", ("a", "b", "0", "0", "0"))


def test_a_sixth_argument_of_a_product_is_refused() -> None:
    with pytest.raises(LoweringError, match="takes other arguments"):
        release().spell("matmul_tiles", ("a", "b", "0", "0", "0", "k > 0"))


def test_no_operation_is_invented() -> None:
    with pytest.raises(LoweringError, match="no operation mm_init"):
        release().spell("mm_init", ("a", "b", "c"))


@pytest.mark.parametrize("name", RELEASES)
def test_every_operation_has_a_header_or_is_missing_and_its_init_is_there(name: str) -> None:
    table = RELEASES[name]
    for each in OPERATIONS.values():
        if not table.has(each.name):
            assert table.missing[each.name]
            continue
        header = table.header(each.name, compute=each.unit is not Unit.DATAFLOW)
        assert header.startswith("api/") and header.endswith(".h")
        if each.init:
            assert table.has(each.init)
            assert OPERATIONS[each.init].is_init or each.init in ("copy_dest_values_init",)
