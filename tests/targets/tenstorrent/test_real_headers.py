"""Generated kernels against the vendor's headers, linker scripts and firmware, of the wheel ``ttnn``.

The wheel (103 MB) is downloaded once into the environment; without it these tests are skipped.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.targets.tenstorrent.hand_made import exponential_of_sum, matrix_product
from tle_raw.errors import ToolchainError
from tle_raw.targets.tenstorrent.ir import Module
from tle_raw.targets.tenstorrent.kernel_api import release
from tle_raw.targets.tenstorrent.real_headers import (
    ARCHITECTURES,
    Outcome,
    Trio,
    check,
    every_operation,
    find_compiler,
    find_wheel,
    is_there,
    trio_of,
)
from tle_raw.targets.tenstorrent.real_headers.wheel import Wheel

pytestmark = pytest.mark.one_triton
FIVE = ["reader", "writer", "compute (unpack)", "compute (math)", "compute (pack)"]
OLDER = "0.70.1"


@pytest.fixture(scope="session")
def wheel() -> Wheel:
    try:
        return find_wheel(release().name)
    except ToolchainError as error:
        pytest.skip(str(error))


def states(outcomes: list[Outcome]) -> dict[str, str]:
    assert not [each.log for each in outcomes if each.state == "fails"]
    return {each.program.name: each.state for each in outcomes}


def sources(module: Module) -> Trio:
    return trio_of(module, release())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_the_matrix_engine_compile_and_link(wheel: Wheel, architecture: str) -> None:
    outcomes = check(sources(matrix_product()), find_compiler(wheel, architecture), release())
    assert states(outcomes) == dict.fromkeys(FIVE, "links")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_of_kernels_of_the_vector_engine_three_programs_compile(wheel: Wheel, architecture: str) -> None:
    outcomes = check(sources(exponential_of_sum()), find_compiler(wheel, architecture), release(), link=False)
    needs = dict.fromkeys(FIVE[3:], "needs sfpi.h")
    assert states(outcomes) == dict.fromkeys(FIVE[:3], "compiles") | needs


def test_the_vendor_has_every_operation_as_the_table_has_it(wheel: Wheel) -> None:
    outcomes = check(every_operation(release()), find_compiler(wheel, "wormhole"), release(), link=False)
    assert states(outcomes)["reader"] == "compiles"
    assert states(outcomes)["compute (unpack)"] == "compiles"


@pytest.mark.skipif(not is_there(OLDER), reason=f"the wheel of {OLDER} was not downloaded")
def test_the_older_release_has_them_as_its_table_has_them() -> None:
    outcomes = check(
        every_operation(release(OLDER)), find_compiler(find_wheel(OLDER), "wormhole"), release(OLDER), link=False
    )
    assert states(outcomes)["compute (unpack)"] == "compiles"


def refusal(trio: Trio, wheel: Wheel) -> str:
    """What the vendor's headers say about kernels of which the first does not compile."""
    outcomes = check(trio, find_compiler(wheel, "wormhole"), release(), link=False)
    assert outcomes[0].state == "fails"
    return outcomes[0].log


def test_a_name_of_an_older_release_is_noticed(wheel: Wheel) -> None:
    trio = sources(matrix_product())
    text = trio.sources["compute"].replace("matmul_init(", "mm_init_short(")
    assert "undeclared identifier 'mm_init_short'" in refusal(replace(trio, sources={"compute": text}), wheel)


def test_a_sixth_argument_is_noticed(wheel: Wheel) -> None:
    trio = sources(matrix_product())
    text = trio.sources["compute"].replace("0, 0, 0)", "0, 0, 0, k > 0)")
    said = refusal(replace(trio, sources={"compute": text}), wheel)
    assert "no matching function for call to 'matmul_tiles'" in said


def test_an_accessor_without_its_words_is_noticed(wheel: Wheel) -> None:
    trio = sources(matrix_product())
    reader = {"reader": trio.sources["reader"]}
    assert "Index out of range" in refusal(replace(trio, sources=reader, words={"reader": (2, 2048)}), wheel)
