"""Architectures of GPUs: those that exist are read, all others are refused by name, wherever one is written."""

import re
import subprocess
from pathlib import Path

import pytest

from tle_raw.cli import main
from tle_raw.errors import DialectError, LinkError, ManifestError
from tle_raw.libraries.packing.read_manifest import manifest_of_text
from tle_raw.linker import link
from tle_raw.linker.architectures import CAPABILITIES, read_architecture, why_no_architecture
from tle_raw.linker.tools.cuda_tools import find_tool
from tle_raw.target import parse_target

NONE = [
    "cuda:20",
    "cuda:85",
    "cuda:99",
    "cuda:130",
    "cuda:080",
    "cuda:8",
    "cuda:8.0",
    "cuda",
    "cuda:",
    "sm_20",
    "sm_80a",
]
MANIFEST = (
    'format = 1\n[library]\nname = "acme"\nversion = "1.0"\nsource = "acme.ll"\narchitectures = ["cuda:80", "{}"]\n'
)
FUNCTION = '[[function]]\nname = "f"\nsignature = "(x: Element[f32]) -> Element[f32]"\n'
CODE = "define float @f(float %x) {\n  ret float %x\n}\n"


@pytest.mark.parametrize("name", ["ptxas", "ptxas-blackwell"])
def test_every_architecture_of_tritons_ptxas_is_known(name):
    program = find_tool(name)
    if program is None:
        pytest.skip(f"this Triton brings no {name}")
    told = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    there = set(re.findall(r"\bsm_\d+[af]?\b", told))
    assert there and not [a for a in there if read_architecture(a) is None]


def test_each_spelling_is_read():
    assert read_architecture("cuda:90") == (90, "") and read_architecture("sm_90a") == (90, "a")
    assert read_architecture("sm103f") == (103, "f") and read_architecture("cpu") is None
    assert all(parse_target(f"cuda:{c}").capability == c for c in CAPABILITIES)


@pytest.mark.parametrize("text", [*NONE, "cuda:\u0668\u0660", "sm_100f"])
def test_no_other_names_a_target(text):
    with pytest.raises(DialectError, match=f"unknown target '{text}'"):
        parse_target(text)


def test_the_hint_says_which_there_are():
    assert why_no_architecture("cuda:20").endswith("there are " + ", ".join(map(str, CAPABILITIES)))
    assert why_no_architecture("sm_80a") == "sm_80 has no a: a is there from sm_90 on, f from sm_100 on"
    assert why_no_architecture("sm_90") == why_no_architecture("tpu") == ""


@pytest.mark.parametrize("text", NONE)
def test_a_manifest_names_file_line_and_key(tmp_path, text):
    (tmp_path / "acme.ll").write_text(CODE)
    with pytest.raises(ManifestError) as raised:
        manifest_of_text(MANIFEST.format(text) + FUNCTION, tmp_path / "acme.toml")
    told = str(raised.value)
    assert f"{tmp_path}/acme.toml:6: `library.architectures[2]`" in told and repr(text) in told
    assert why_no_architecture(text) in told


def test_a_functions_own_architectures_are_checked_too(tmp_path):
    (tmp_path / "acme.ll").write_text(CODE)
    with pytest.raises(ManifestError, match=r"acme\.toml:10: `function\[1\]\.architectures\[1\]`") as raised:
        manifest_of_text(MANIFEST.format("cuda:90") + FUNCTION + 'architectures = ["cuda:20"]', tmp_path / "acme.toml")
    assert "no ptxas of Triton's compiles for it" in str(raised.value)


def test_an_architecture_that_stands_there_twice_is_told_so(tmp_path):
    (tmp_path / "acme.ll").write_text(CODE)
    with pytest.raises(ManifestError, match=r"is each architecture once"):
        manifest_of_text(MANIFEST.format("sm_80") + FUNCTION, tmp_path / "acme.toml")


@pytest.mark.parametrize("text", [*NONE, 90, None])
def test_the_linker_refuses_it(text):
    with pytest.raises(LinkError, match=f"{re.escape(repr(text))} is no target of the linker"):
        link([("f.ll", CODE)], entry="f", target=text)


def test_compilation_ahead_of_time_refuses_it_before_the_file_is_read(tmp_path: Path, capsys):
    assert main(["compile", str(tmp_path / "gone.py"), "-o", str(tmp_path / "out"), "--target", "cuda:20"]) == 2
    assert "unknown target 'cuda:20'" in capsys.readouterr().err and not (tmp_path / "out").exists()
