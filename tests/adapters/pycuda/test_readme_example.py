"""The README's example of CUDA kernels and PyCUDA runs, and its numbers are right."""

import re
import runpy
from pathlib import Path

import numpy as np

README = Path(__file__).parents[3] / "README.md"


def test_the_example_runs(tmp_path, capsys):
    text = re.search(r"<!-- pycuda example: rows.py -->\n```\w+\n(.*?)```", README.read_text(), re.DOTALL)[1]
    (tmp_path / "rows.py").write_text(text)
    done = runpy.run_path(str(tmp_path / "rows.py"))
    x = 1 + np.arange(64.0)
    np.testing.assert_array_equal(done["x"], np.tile(x, (48, 1)))
    expected = (x / (1 + np.exp(-1.702 * x))) ** 2
    np.testing.assert_allclose(done["out"], expected.sum(), rtol=1e-4)
    assert "a team of 128 threads" in capsys.readouterr().out
