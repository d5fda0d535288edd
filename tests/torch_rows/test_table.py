"""The table of `docs/torch.md` has the rows that are run, and names the torch that runs them."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_triton
torch = pytest.importorskip("torch")

from tests.torch_rows.rows import ROWS, needs_cpu, needs_gpu  # noqa: E402

PAGE = (Path(__file__).resolve().parents[2] / "docs/torch.md").read_text()
TABLE = [[cell.strip() for cell in line[1:-1].split("|")] for line in PAGE.splitlines() if line.startswith("|")]
CPU, GPU = slice(2, 4), slice(4, 6)


def test_every_row_is_in_the_table_and_no_other():
    assert [row[0].strip("`") for row in TABLE[2:]] == list(ROWS)


def test_a_row_that_one_device_does_without_says_so():
    for row in TABLE[2:]:
        name = row[0].strip("`")
        assert ([*row[CPU]] == ["", ""]) == needs_gpu(name), name
        assert ([*row[GPU]] == ["", ""]) == needs_cpu(name), name


def test_what_is_said_of_the_cpu_was_run_with_this_torch():
    release = re.match(r"\d+\.\d+", torch.__version__)
    assert release is not None
    assert all(f"torch {release[0]}," in head for head in TABLE[0][CPU]), "run the rows, and say what came of them"
