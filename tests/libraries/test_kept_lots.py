"""What was packed once is not compiled again: after a pack that was cut off, and after an edit elsewhere."""

from pathlib import Path

import pytest

from tle_raw.errors import CompilationFailed, ManifestError
from tle_raw.knobs import knobs
from tle_raw.libraries.packing import compile_all
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import manifest_of_text
from tle_raw.store import LOTS, Store

pytestmark = pytest.mark.one_triton

HEAD = """\
format = 1
[library]
name = "acme"
version = "1.0"
architectures = ["cuda:80"]
"""
FUNCTION = """
[[function]]
name = "{name}"
source = "{name}.ll"
signature = "(x: Element[f32]) -> Element[f32]"
"""
SOURCE = """\
define float @{name}(float %x) {{
  %y = fadd float %x, {number}.0
  ret float %y
}}
"""
READS = """\
@seen = internal addrspace(1) global float 0.0
define float @two(float %x) {
  %y = load volatile float, ptr addrspace(1) @seen
  ret float %y
}
"""
CUDA = '#include "factor.h"\n__device__ float two(float x) { return FACTOR * x; }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two functions of two files."""
    for number, name in enumerate(("one", "two")):
        (tmp_path / f"{name}.ll").write_text(SOURCE.format(name=name, number=number))
    (tmp_path / "acme.toml").write_text(HEAD + FUNCTION.format(name="one") + FUNCTION.format(name="two"))
    return tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Names of the functions that were compiled, in an empty cache."""
    names: list[str] = []
    really = compile_all.compile_code

    def compile_code(piece, *rest):
        names.append(piece.function.name)
        return really(piece, *rest)

    monkeypatch.setattr(compile_all, "compile_code", compile_code)
    with knobs.scope() as settings:
        settings.cache.dir = str(tmp_path / "cache")
        yield names


def packed(folder: Path, to: str) -> dict[str, bytes]:
    text = (folder / "acme.toml").read_text()
    pack(manifest_of_text(text, folder / "acme.toml"), folder / to)
    return {str(f.relative_to(folder / to)): f.read_bytes() for f in (folder / to).rglob("*") if f.is_file()}


def test_a_second_pack_compiles_nothing_and_gives_the_same_bytes(folder, compiled):
    first = packed(folder, "first")
    assert sorted(compiled) == ["one", "two"]
    assert packed(folder, "second") == first and len(compiled) == 2


def test_what_was_done_before_an_error_is_kept(folder, compiled):
    whole = packed(folder, "whole")
    Store(knobs.cache.dir, LOTS).clear()
    right = (folder / "two.ll").read_text()
    (folder / "two.ll").write_text(right.replace("float %x)", "double %x)"))
    with pytest.raises(CompilationFailed):
        packed(folder, "cut_off")
    assert not (folder / "cut_off").exists()
    (folder / "two.ll").write_text(right)
    compiled.clear()
    assert packed(folder, "resumed") == whole and compiled == ["two"]


@pytest.mark.parametrize(
    ("file", "old", "new", "again"),
    [
        ("two.ll", "1.0", "5.0", ["two"]),
        ("acme.toml", 'source = "one.ll"', 'source = "two.ll"\nsymbol = "two"', ["one", "two"]),
        ("acme.toml", '"1.0"', '"1.1"', []),
        ("acme.toml", '["cuda:80"]', '["cuda:90"]', ["one", "two"]),
    ],
)
def test_an_edit_compiles_what_it_concerns(folder, compiled, file, old, new, again):
    packed(folder, "first")
    compiled.clear()
    (folder / file).write_text((folder / file).read_text().replace(old, new))
    edited = packed(folder, "edited")
    assert sorted(compiled) == again
    Store(knobs.cache.dir, LOTS).clear()
    assert packed(folder, "anew") == edited


def test_an_edited_header_compiles_what_reads_it(folder, compiled):
    (folder / "two.cu").write_text(CUDA)
    manifest = folder / "acme.toml"
    manifest.write_text(manifest.read_text().replace("two.ll", "two.cu"))
    (folder / "factor.h").write_text("#define FACTOR 3\n")
    first = packed(folder, "first")
    compiled.clear()
    (folder / "factor.h").write_text("#define FACTOR 4\n")
    assert packed(folder, "edited") != first and compiled == ["two"]


def test_a_damaged_lot_is_compiled_again(folder, compiled):
    first = packed(folder, "first")
    for lot in (folder / "cache" / "lots").glob("*.lot"):
        lot.write_bytes(lot.read_bytes()[:-9])
    compiled.clear()
    assert packed(folder, "second") == first and sorted(compiled) == ["one", "two"]


def test_effects_are_checked_of_kept_code_too(folder, compiled):
    (folder / "two.ll").write_text(READS)
    packed(folder, "first")
    manifest = folder / "acme.toml"
    manifest.write_text(manifest.read_text() + "effects = []\n")
    with pytest.raises(ManifestError, match=r"acme\.toml:15: `two` does more than its effects say: reads"):
        packed(folder, "second")
    assert len(compiled) == 2


def test_without_a_cache_nothing_is_kept(folder, compiled):
    with knobs.scope() as settings:
        settings.cache.enabled = False
        assert packed(folder, "first") == packed(folder, "second")
    assert sorted(compiled) == ["one", "one", "two", "two"] and not (folder / "cache" / "lots").exists()
