"""Mistakes planted in generated files: each is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.targets.tenstorrent.hand_made import exponential_of_sum, matrix_product
from tests.targets.tenstorrent.mistakes import MISTAKES, PRODUCT, SUM, Mistake
from tle_raw.errors import TLEError
from tle_raw.targets.tenstorrent.emit import emit
from tle_raw.targets.tenstorrent.plan import PlanError, read_plan
from tle_raw.targets.tenstorrent.simulator.build import build_program
from tle_raw.targets.tenstorrent.simulator.run import SimulationError, run_program

pytestmark = pytest.mark.one_triton
Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
MODULES = {PRODUCT: matrix_product, SUM: exponential_of_sum}
BOUNDS = {PRODUCT: 2**-8, SUM: 1e-5}  # relative to the largest: half a step of bfloat16; the vector engine's exp


def case(program: str) -> tuple[dict[str, Array], Array]:
    """Inputs by name, and the output in float64."""
    random = np.random.default_rng(7)
    tensors = MODULES[program]().tensors
    dtype = ml_dtypes.bfloat16 if program == PRODUCT else np.float32
    given = {name: random.standard_normal(tensors[name].shape).astype(dtype) for name in "AB"}
    a, b = (array.astype(np.float64) for array in given.values())
    return given, a @ b if program == PRODUCT else np.exp((a + b) / 2)


def error_of(folder: Path, program: str) -> float:
    """The largest error of a run, relative to the largest value."""
    given, expected = case(program)
    for name, array in given.items():
        array.tofile(folder / f"{name}.bin")
    run_program(folder / "main", [folder / f"{name}.bin" for name in "ABC"], seconds=20)
    computed = np.fromfile(folder / "C.bin", next(iter(given.values())).dtype).reshape(expected.shape)
    difference = np.abs(computed.astype(np.float64) - expected)
    return float(np.nan_to_num(difference, nan=np.inf).max() / np.abs(expected).max())


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both programs as they are generated, built."""
    folders = {}
    for program, module in MODULES.items():
        folder = tmp_path_factory.mktemp(program)
        for name, text in emit(module()).items():
            (folder / name).write_text(text)
        build_program(folder)
        folders[program] = folder
    return folders


@pytest.mark.parametrize("program", MODULES)
def test_without_a_mistake_the_numbers_are_right(built: dict[str, Path], program: str) -> None:
    assert error_of(built[program], program) < BOUNDS[program]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_a_mistake_is_found(built: dict[str, Path], tmp_path: Path, mistake: Mistake) -> None:
    folder = tmp_path / "program"
    shutil.copytree(built[mistake.program], folder)
    file = folder / mistake.file
    text = file.read_text()
    assert mistake.right in text
    file.write_text(text.replace(mistake.right, mistake.wrong, 1))
    if mistake.finder == "plan":
        with pytest.raises(PlanError, match=mistake.words):
            read_plan(file.read_text(), str(file))
        return
    if mistake.file == "main.cpp":
        build_program(folder)
    if mistake.finder == "numbers":
        assert error_of(folder, mistake.program) > 10 * BOUNDS[mistake.program]
        return
    with pytest.raises(SimulationError) as raised:
        error_of(folder, mistake.program)
    said = str(raised.value)
    assert mistake.file in said or mistake.file == "main.cpp"
    assert mistake.words in said
    assert (mistake.finder == "compiler") == ("does not compile" in said)
    assert isinstance(raised.value, TLEError)


def test_the_documents_list_every_mistake() -> None:
    page = (Path(__file__).parents[3] / "docs/tenstorrent-checks.md").read_text()
    table = page.partition("| mistake |")[2].partition("\n\n")[0].splitlines()[2:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in table] == [mistake.name for mistake in MISTAKES]
