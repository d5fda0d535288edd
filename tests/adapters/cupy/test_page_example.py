"""The example of docs/cuda.md of CuPy's kernels runs, and its numbers are right."""

import runpy

import numpy as np
import pytest

from tests.documents import examples

pytest.importorskip("cupy", exc_type=ImportError)


def test_the_example_runs(tmp_path, capsys):
    text = examples("docs/cuda.md", kind="cupy")["cupy_rows.py"]
    (tmp_path / "cupy_rows.py").write_text(text)
    done = runpy.run_path(str(tmp_path / "cupy_rows.py"))
    np.testing.assert_array_equal(done["x"], np.full((8, 64), 3))
    np.testing.assert_allclose(done["out"], np.full(8, np.sqrt(9 * 16 * (1 + 4 + 9))), rtol=1e-6)
    assert "a team of 128 threads" in capsys.readouterr().out
