"""The example of docs/cuda.md of CUDA kernels and PyCUDA runs, and its numbers are right."""

import runpy

import numpy as np

from tests.documents import examples


def test_the_example_runs(tmp_path, capsys):
    text = examples("docs/cuda.md", kind="pycuda")["rows.py"]
    (tmp_path / "rows.py").write_text(text)
    done = runpy.run_path(str(tmp_path / "rows.py"))
    x = 1 + np.arange(64.0)
    np.testing.assert_array_equal(done["x"], np.tile(x, (48, 1)))
    expected = (x / (1 + np.exp(-1.702 * x))) ** 2
    np.testing.assert_allclose(done["out"], expected.sum(), rtol=1e-4)
    assert "a team of 128 threads" in capsys.readouterr().out
