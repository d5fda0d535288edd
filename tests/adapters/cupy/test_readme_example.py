"""The README's example of CuPy's kernels runs, and its numbers are right."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cupy", exc_type=ImportError)

README = Path(__file__).parents[3] / "README.md"


def test_the_example_runs(tmp_path, capsys):
    text = re.search(r"<!-- cupy example: cupy_rows.py -->\n```\w+\n(.*?)```", README.read_text(), re.DOTALL)[1]
    (tmp_path / "cupy_rows.py").write_text(text)
    done = runpy.run_path(str(tmp_path / "cupy_rows.py"))
    np.testing.assert_array_equal(done["x"], np.full((8, 64), 3))
    np.testing.assert_allclose(done["out"], np.full(8, np.sqrt(9 * 16 * (1 + 4 + 9))), rtol=1e-6)
    assert "a team of 128 threads" in capsys.readouterr().out
