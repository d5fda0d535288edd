"""The README's TileLang example does what the README says."""

import linecache
import re
from pathlib import Path

import pytest
import torch

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.usefixtures("on_cpu")
def test_the_example_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (text,) = re.findall(r"<!-- tilelang example: \S+ -->\n```python\n(.*?)```", README.read_text(), re.DOTALL)
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
