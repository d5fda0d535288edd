"""The files of the guide in docs/libraries.md, as a reader would write them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "libraries.md"


def blocks(language: str) -> list[str]:
    """The guide's blocks of one language, in order."""
    guide = PAGE.read_text().split("## acme in ten minutes")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)


def write_sources(folder: Path) -> Path:
    """``acme.cuh`` and the finished manifest, which is given back."""
    from tle_raw.cli import main

    (folder / "acme.cuh").write_text(blocks("cuda")[0])
    assert main(["pack", "init", str(folder / "acme.cuh"), "--name", "acme_math"]) == 0
    manifest = folder / "acme.toml"
    manifest.write_text(f"{manifest.read_text()}\n{blocks('toml')[0]}")
    return manifest
