"""A manifest's errors say file, line, key, what was expected and what was got."""

from pathlib import Path

import pytest

from tle_raw.errors import (
    FragmentSourceError,
    ManifestError,
    SignatureError,
    SignatureMismatchError,
    SymbolError,
)
from tle_raw.libraries.packing.check_abi import check_abi
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import manifest_of_text, read_manifest
from tle_raw.libraries.packing.toml_lines import key_lines
from tle_raw.libraries.signature_text import read_signature, signature_text

pytestmark = pytest.mark.one_triton

GOOD = """\
format = 1

[library]
name = "acme"
version = "1.0"
source = "acme.cu"
options = { defines = { A = "1" } }

[[function]]
name = "scale"
signature = "(x: Element[T], by: Element[T]) -> Element[T]"
values = { T = ["f32", "f64"] }
effects = []
options.defines.B = "2"

[[function]]
name = "fill"
block = [16, 16]
[[function.overload]]
signature = '''(x: Out[Tile[f32, M]],
                value: Scalar[f32])'''
values.M = [64, 128]
[[function.overload]]
signature = "(x: Out[Tile[i32, M]], value: Scalar[i32])"
values.M = [64]
symbol = "fill_integers"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "acme.cu").write_text("__device__ float scale(float x, float by) { return x * by; }\n")
    return tmp_path / "acme.toml"


def test_it_says_what_is_packed(file):
    scale, fill = manifest_of_text(GOOD, file).functions
    (overload,) = scale.overloads
    assert [{n: str(v) for n, v in b.items()} for b in overload.bindings()] == [{"T": "f32"}, {"T": "f64"}]
    assert overload.options == {"defines": {"A": "1", "B": "2"}} and overload.effects == frozenset()
    floats, integers = fill.overloads
    assert str(floats.signature) == "fill(x: Out[Tile[f32, M]], value: Scalar[f32])"
    assert (floats.symbol, integers.symbol, floats.block) == ("fill", "fill_integers", (16, 16))
    assert [str(t) for t in floats.architectures] == ["cpu", "cuda:80", "cuda:90"]
    assert floats.location.line == 20


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("format = 1", "format = 2", 1, ("format 2", "reads up to 1", "update tle_raw")),
        ("format = 1", "", 1, ("`format` is missing",)),
        ('name = "acme"', 'name = "my acme"', 4, ("library.name", "identifier", "'my acme'")),
        ('version = "1.0"', "version = 1.0", 5, ("library.version", "a text", "a number: 1.0")),
        ("acme.cu", "acne.cu", 6, ("library.source", "acne.cu' is missing")),
        ("effects = []", 'effects = ["read"]', 13, ("function[1].effects[1]", "reads, writes, barrier", "'read'")),
        ("effects = []", "efects = []", 13, ("function[1].efects", "did you mean `effects`?")),
        ('["f32", "f64"]', '["f32", "f46"]', 12, ("function[1].values.T[2]", "a dtype", "did you mean")),
        ('["f32", "f64"]', '["f32", "f32"]', 12, ("function[1].values.T", "each once")),
        ("values.M = [64]", "values.N = [64]", 25, ("no name `N`", "names of the signature: M")),
        ("values.M = [64]\n", "", 24, ("for which values of `M` the function `fill`",)),
        ("by: Element[T]", "by: Scalarr[T]", 11, ("Scalarr[T]` is no parameter type", "types are Scalar")),
        ("-> Element[T]", "-> Tile[T, 8]", 11, ("returns Scalar[...], Element[...] or nothing",)),
        ("block = [16, 16]", "block = [16, 2048]", 18, ("function[2].block", "1 to 1024")),
        ('name = "fill"', 'name = "scale"', 17, ("two functions are called `scale`", "as in line 10")),
        (
            "Out[Tile[i32, M]], value: Scalar[i32]",
            "Out[Tile[f32, M]], value: Scalar[f32]",
            24,
            ("an overload of `fill` before it takes the same",),
        ),
        ("[library]", "[librari]", 3, ("there is no key `librari`", "did you mean `library`?")),
        ('symbol = "fill_integers"', 'symbol = "', 26, ("no TOML",)),
    ],
)
def test_what_is_wrong_is_named_with_its_line(file, old, new, line, words):
    assert old in GOOD
    with pytest.raises(ManifestError) as raised:
        manifest_of_text(GOOD.replace(old, new, 1), file)
    text = str(raised.value)
    place = f"{file}:{line}"
    assert all(word in text for word in words), text
    if new != "" and old != "[library]":
        assert place in text, text


def test_lines_are_found_through_strings_comments_and_nested_tables():
    lines = key_lines(
        'a = "[b]" # c = 1\n[[t]]\nx."y z" = [\n  {k = 1}, \'"\',\n]\n[t.u]\nv = """\nw = 1\n"""\n[[t]]\nx = 2'
    )
    assert lines[("t", 0, "x", "y z", 1)] == 4 and lines[("t", 0, "x", "y z", 0, "k")] == 4
    assert lines[("t", 0, "u", "v")] == 7 and lines[("t", 1, "x")] == 11 and ("w",) not in lines


def test_a_signature_is_what_it_prints():
    text = "(a: InOut[Pointer[void]], b: Tile[T, M, 64], c: Buffer[f16, N, AnyLayout], d: Barrier) -> Scalar[T]"
    assert signature_text(read_signature("f", text)) == text.replace("d: Barrier", "d: InOut[Barrier]")
    assert read_signature("f", '(x: Element["f32"]) -> Element["f32"]') == read_signature(
        "f", "(x: Element[f32]) -> Element[f32]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(x)",
        "(x: f32)",
        "(x: Scalar[f32] = 1)",
        "(*x: Scalar[f32])",
        "(): ...\ndef g()",
        "(x: In[In[Scalar[f32]]])",
        "(x: Scalar[f32], x: Scalar[f32])",
    ],
)
def test_what_is_no_signature_is_refused(text):
    with pytest.raises(SignatureError):
        read_signature("f", text)


def test_cuda_code_is_compared_without_a_compiler(file):
    manifest = GOOD.split('[[function]]\nname = "fill"')[0].replace('"f32", "f64"', '"f64"')
    with pytest.raises(SignatureMismatchError) as raised:
        check_abi(manifest_of_text(manifest, file))
    assert "fragment `scale`" in str(raised.value) and "acme.toml:11" in str(raised.value)


def test_the_manifests_of_the_samples_are_in_order():
    folder = Path(__file__).parents[2] / "samples" / "libraries"
    check_abi(read_manifest(folder / "libdevice.toml"))
    assert [f.name for f in read_manifest(folder / "curand.toml").functions] == ["uniform", "normal"]


BITCODE = """\
format = 1
[library]
name = "acme"
version = "1.0"
source = "acme.bc"
architectures = ["cuda:80"]
[[function]]
name = "scale"
signature = "(x: Element[f32]) -> Element[f32]"
[[function]]
name = "lost"
signature = "(x: Element[f32]) -> Element[f32]"
"""
SCALE = "define float @scale(float %x) {\n  ret float %x\n}\n"


def test_bitcode_that_cannot_be_read_is_named_with_its_file_and_the_manifests_line(tmp_path):
    llvm = pytest.importorskip("llvmlite.binding")
    code = llvm.parse_assembly(SCALE, context=llvm.create_context()).as_bitcode()
    for data in (code[: len(code) // 2], code[:4], b"\x7fELF" + code):
        (tmp_path / "acme.bc").write_bytes(data)
        with pytest.raises(FragmentSourceError, match=r"`scale`: acme\.bc: the bitcode cannot be read") as raised:
            pack(manifest_of_text(BITCODE, tmp_path / "acme.toml"), tmp_path / "out")
        assert f"{tmp_path / 'acme.toml'}:9" in str(raised.value) and not (tmp_path / "out").exists()


def test_a_function_that_bitcode_has_not_is_told_with_those_that_it_has(tmp_path):
    llvm = pytest.importorskip("llvmlite.binding")
    code = llvm.parse_assembly(SCALE, context=llvm.create_context()).as_bitcode()
    (tmp_path / "acme.bc").write_bytes(code)
    with pytest.raises(SymbolError, match="no function `lost`") as raised:
        pack(manifest_of_text(BITCODE, tmp_path / "acme.toml"), tmp_path / "out")
    assert "scale" in str(raised.value).split("no function `lost`")[1] and not (tmp_path / "out").exists()


def test_a_parameter_with_a_word_of_pythons_is_named():
    with pytest.raises(SignatureError, match="`in` is a word of Python's") as caught:
        read_signature("f", "(out: InOut[Pointer[f32]], in: Pointer[f32])")
    assert caught.value.hint == "call the parameter `in_`"


def test_a_byte_that_is_no_utf_8_is_told_with_its_line(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"format = 1\n# \xff\n")
    with pytest.raises(ManifestError, match=r"a\.toml:2: the manifest is no UTF-8 text"):
        read_manifest(tmp_path / "a.toml")


def test_a_missing_file_of_a_package_that_is_there_says_so(file):
    file.write_text(GOOD.replace("acme.cu", "package:tle_raw/no_such.cu"))
    with pytest.raises(ManifestError, match="is missing") as caught:
        read_manifest(file)
    assert "`tle_raw` is installed without this file" in caught.value.hint
