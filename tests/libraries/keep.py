"""Keeps the guide's library as this release packs it: ``python -m tests.libraries.keep``, once for each release.

It writes ``packed_by_<release>``, which the tests of all later releases use unchanged. The runtime of thread blocks is
left out, as it is for one machine and one release; so is what makes the folder larger and tests nothing more.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import tle_raw
from tests.libraries.guide import write_sources
from tle_raw.libraries.packed_files import INDEX, as_json
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import read_manifest

HERE = Path(__file__).parent
# The version is one that no test packs the guide's library as.
SMALLER = (
    ('"cuda:80", "cuda:90"]', '"cuda:80"]'),
    ('version = "0.1.0"', 'version = "1.0.0"'),
    ("M = [1, 4]", "M = [4]"),
)


def kept() -> list[Path]:
    """The folders of all releases, the oldest first."""
    return sorted(HERE.glob("packed_by_*"), key=lambda f: [int(n) for n in f.name.split("_")[2:]])


def keep() -> Path:
    """Pack it into the folder of this release, which must not be there: what a release packed does not change."""
    folder = HERE / f"packed_by_{tle_raw.__version__.replace('.', '_')}"
    if folder.exists():
        raise SystemExit(f"{folder} is there: what a release packed is kept as it is")
    with tempfile.TemporaryDirectory() as place:
        manifest = write_sources(Path(place))
        text = manifest.read_text()
        for old, new in SMALLER:
            assert old in text, old
            text = text.replace(old, new)
        manifest.write_text(text)
        shutil.copytree(pack(read_manifest(manifest), Path(place) / "out").folder, folder)
    library = folder / "acme_math"
    shutil.rmtree(library / "runtime", ignore_errors=True)
    index = json.loads((library / INDEX).read_text())
    (library / INDEX).write_bytes(as_json(index | {"runtimes": {}}))
    return folder


if __name__ == "__main__":
    print(keep())
