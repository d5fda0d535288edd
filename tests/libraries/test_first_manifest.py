"""`tle-raw pack init`: what it makes of headers as people write them."""

import tomllib

import pytest

from tle_raw.adapters.cpp.declarations import functions
from tle_raw.cli import main
from tle_raw.errors import FragmentSourceError
from tle_raw.libraries.packing.check_abi import check_abi
from tle_raw.libraries.packing.first_manifest import first_manifest
from tle_raw.libraries.packing.read_manifest import read_manifest

pytestmark = pytest.mark.one_triton

HEADER = """\
#include "api.h"
/**
 * \\brief The sum
 *  of squares, "exactly".
 *
 * @param[in] a - the first
 * @return a*a + b*b
 * \\internal
 */
ACME_API float squares(float a, float b) { return a * a + b * b; }

/* Two lines
   of text. */
HIDDEN_API unsigned long long int __wide(unsigned long long int lambda);
__device__ void fill(float *out, const float *in, size_t n);
struct half4 { half4 &operator=(const half4 &); bool operator<(int) const; half4(float); };
__device__ half4 &half4::operator=(const half4 &o) { return *this; }
__device__ bool half4::operator<(int) const { return true; }
__device__ half4::half4(float x) {}
__device__ float lambda(float from) { return from; }
__device__ long same(long x);
__device__ long long same(long long x);
__device__ float any(float x, ...);
__device__ void *address(int *x);
__device__ float of(half4 x);
__host__ float not_here(float x);
"""


@pytest.fixture
def header(tmp_path):
    (tmp_path / "api.h").write_text("#define ACME_INLINE inline\n#define ACME_API __device__ ACME_INLINE\n")
    (tmp_path / "acme.h").write_text(HEADER)
    return tmp_path / "acme.h"


def declared(text):
    return {function["name"]: function for function in tomllib.loads(text)["function"]}


def test_macros_keywords_and_types_of_two_words_are_understood(header):
    found = declared(first_manifest(header))
    assert found["squares"]["signature"] == "(a: Element[f32], b: Element[f32]) -> Element[f32]"
    assert found["fill"]["signature"] == "(out: InOut[Pointer[f32]], in_: Pointer[f32], n: Scalar[u64])"
    assert found["lambda_"] == {
        "name": "lambda_", "doc": "", "symbol": "lambda", "signature": "(from_: Element[f32]) -> Element[f32]",
    }  # fmt: skip
    assert found["same"]["signature"] == "(x: Element[i64]) -> Element[i64]"
    assert found.keys() == {"squares", "fill", "lambda_", "same"}


def test_a_macro_that_nobody_defines_is_a_qualifier_where_nothing_is_marked(tmp_path):
    (tmp_path / "other.cuh").write_text("QUALIFIERS unsigned long long int __wide(unsigned long long int lambda);\n")
    (wide,) = declared(first_manifest(tmp_path / "other.cuh")).values()
    assert (wide["name"], wide["symbol"]) == ("wide", "__wide")
    assert wide["signature"] == "(lambda_: Element[u64]) -> Element[u64]"


def test_the_texts_are_the_comments_without_doxygens_commands(header):
    found = declared(first_manifest(header))
    assert found["squares"]["doc"] == 'The sum of squares, "exactly".\na: the first\nReturns a*a + b*b\n'


def test_what_cannot_be_declared_is_a_comment_that_says_why(header):
    comments = [line for line in first_manifest(header).splitlines() if line.startswith("#")]
    assert [line.partition(": ")[2] for line in comments] == [
        "", "it takes any number of arguments", "its result, `* void`, is no number",
        "`half4` may be a tile, or a type of its own",
    ]  # fmt: skip
    assert "`same(long long)` in line 22 takes the same as `same(long)`" in comments[0]


def test_the_source_is_found_from_where_the_manifest_stands(header, capsys):
    elsewhere = header.parent / "manifests"
    elsewhere.mkdir()
    assert main(["pack", "init", str(header), "-o", str(elsewhere / "acme.toml")]) == 0
    assert "4 functions, and 4 as comments that say what is missing" in capsys.readouterr().out
    manifest = read_manifest(elsewhere / "acme.toml")
    check_abi(manifest)
    assert {o.source.resolve() for f in manifest.functions for o in f.overloads} == {header}
    assert main(["pack", "init", str(header), "-o", str(elsewhere / "acme.toml")]) == 2


def test_a_header_of_an_installed_package_is_named_by_the_package(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages" / "vendor" / "include"
    folder.mkdir(parents=True)
    (folder / "v.h").write_text("__device__ int one(int x);\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    own = tmp_path / "own"
    own.mkdir()
    text = first_manifest(folder / "v.h", folder=own)
    assert tomllib.loads(text)["library"]["source"] == "package:vendor/include/v.h"
    (own / "v.toml").write_text(text)
    assert read_manifest(own / "v.toml").functions[0].overloads[0].source == folder / "v.h"


def test_functions_behind_operators_of_classes_are_found():
    assert [f.name for f in functions(HEADER)][3:5] == ["lambda", "same"]


def test_a_header_without_device_functions_is_named(tmp_path):
    (tmp_path / "host.h").write_text("__host__ int f(int);\n")
    with pytest.raises(FragmentSourceError, match="declares no device function"):
        first_manifest(tmp_path / "host.h")
