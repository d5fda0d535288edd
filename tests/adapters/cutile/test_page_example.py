"""The example of the page on cuTile does what the page says."""

import linecache
import re

import torch

from tests.documents import examples


def test_the_example_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    text = examples("docs/cutile.md", kind="cutile")["softmax_rows.py"]
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
