"""All declarations of a manifest that do not fit their sources are told in one error."""

from pathlib import Path

import pytest

from tle_raw.cli import main
from tle_raw.errors import ManifestError
from tle_raw.libraries.packing.check_abi import check_abi
from tle_raw.libraries.packing.read_manifest import read_manifest

pytestmark = pytest.mark.one_triton

SOURCE = "".join(f"__device__ {t} f{n}({t} x) {{ return x; }}\n" for n, t in enumerate(["int", "float", "double"]))
MANIFEST = """format = 1
[library]
name = "acme"
version = "1.0.0"
source = "acme.cu"
architectures = ["cuda:90"]
""" + "".join(f'[[function]]\nname = "f{n}"\nsignature = "(x: Element[f32]) -> Element[f32]"\n' for n in range(3))


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "acme.cu").write_text(SOURCE)
    (tmp_path / "acme.toml").write_text(MANIFEST)
    return tmp_path / "acme.toml"


def test_all_that_do_not_fit_are_told_with_their_lines(manifest):
    with pytest.raises(ManifestError) as error:
        check_abi(read_manifest(manifest))
    text = str(error.value)
    assert "2 declarations do not fit their sources" in text
    assert "`f0`" in text and "`f2`" in text and "`f1`" not in text
    lines = MANIFEST.splitlines()
    for name in ("f0", "f2"):
        at = lines.index(f'name = "{name}"')
        assert any(f"{manifest}:{line}" in text for line in (at, at + 1, at + 2))


def test_nothing_is_written_when_several_do_not_fit(manifest, tmp_path):
    assert main(["pack", str(manifest), "-o", str(tmp_path / "packed")]) != 0
    assert not (tmp_path / "packed").exists()
