"""The README's cuTile example does what the README says."""

import linecache
import re
from pathlib import Path

import torch

README = Path(__file__).parents[3] / "README.md"


def test_the_example_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (text,) = re.findall(r"<!-- cutile example: \S+ -->\n```python\n(.*?)```", README.read_text(), re.DOTALL)
    file = tmp_path / "softmax_rows.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    scope = {"__name__": "example", "__file__": str(file)}
    exec(compile(text, str(file), "exec"), scope)
    x, w = scope["x"].double(), scope["w"].double()
    torch.testing.assert_close(scope["y"].double(), torch.softmax(x * w, dim=1), rtol=1e-5, atol=1e-6)
    assert torch.equal(scope["z"], scope["w"] * 2)
    line = text[: text.index("    tl.store(y_ptr + at, softmax(tile))")].count("\n") + 1
    printed = capsys.readouterr().out
    assert re.search(rf"softmax +softmax_rows.py:{line} +traced", printed) and "scaled_rows" in printed
