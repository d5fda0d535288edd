"""The example of the page on TileLang does what the page says."""

import linecache

import pytest
import torch

from tests.documents import examples


@pytest.mark.usefixtures("on_cpu")
def test_the_example_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    text = examples("docs/tilelang.md", kind="tilelang")["normalise.py"]
    file = tmp_path / "normalise.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    scope = {"__name__": "example", "__file__": str(file)}
    exec(compile(text, str(file), "exec"), scope)
    a, b, w = (scope[n].double() for n in "abw")
    expected = (a + b) * ((a + b).pow(2).mean(1, keepdim=True) + 1e-6).rsqrt() * w
    torch.testing.assert_close(scope["y"].double(), expected, rtol=1e-5, atol=1e-6)
    line = text[: text.index("rms_norm(tl.load")].count("\n") + 1
    assert f"rms_norm  normalise.py:{line}  traced" in capsys.readouterr().out
