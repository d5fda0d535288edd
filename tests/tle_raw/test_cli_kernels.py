"""`tle-raw inspect` of kernels in Triton's cache."""

import json
import os

import pytest

from tle_raw.cli import main
from tle_raw.cli.kernels import is_kernel_folder, kernels_of

PROGRAM = """
import tle_raw
import triton
import triton.language as tl
from tle_raw import Element


@tle_raw.dialect("cuda", source="__device__ float half_of(float x) { return x / 2; }")
def half_of(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def halves(x_ptr, WITH: tl.constexpr):
    at = x_ptr + tl.arange(0, 128)
    x = tl.load(at)
    if WITH:
        x = half_of(x)
    tl.store(at, x)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache folder of its own with a kernel that holds a region and one that does not."""
    import importlib.util

    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    folder = tmp_path_factory.mktemp("kernels")
    (folder / "halves_kernel.py").write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("halves_kernel", folder / "halves_kernel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    before = os.environ["TRITON_CACHE_DIR"]
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    try:
        kernels = [
            triton.compile(
                ASTSource(
                    module.halves,
                    signature={"x_ptr": "*fp32", "WITH": "constexpr"},
                    constexprs={"WITH": flag},
                ),
                target=GPUTarget("cuda", 80, 32),
            )
            for flag in (True, False)
        ]
    finally:
        os.environ["TRITON_CACHE_DIR"] = before
    return folder / "cache", *kernels


def test_a_folder_gives_the_reports_of_its_kernels(compiled, capsys):
    folder, _, _ = compiled
    assert main(["inspect", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("kernel `halves`") == 1, "the kernel without a region is left out"
    assert "half_of" in printed


def test_a_hash_is_looked_up_in_tritons_cache(compiled, capsys, monkeypatch):
    folder, kernel, plain = compiled
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    assert main(["inspect", kernel.hash]) == 0
    assert "kernel `halves` for cuda:80" in capsys.readouterr().out
    assert main(["inspect", plain.hash]) == 2
    assert "no kernel with a region" in capsys.readouterr().err


def test_the_report_equals_that_of_the_kernel_itself(compiled):
    import tle_raw

    folder, kernel, _ = compiled
    (found,) = kernels_of(str(folder))
    assert str(tle_raw.report(found)) == str(tle_raw.report(kernel))


@pytest.mark.one_triton
def test_an_empty_folder_is_a_message(tmp_path, capsys):
    assert main(["inspect", str(tmp_path)]) == 2
    assert "no kernel with a region" in capsys.readouterr().err


@pytest.mark.one_triton
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps({"tle_raw": {}}), "\0"])
def test_files_that_are_no_kernels_are_passed_over(tmp_path, capsys, text):
    (tmp_path / "some.json").write_text(text)
    assert main(["inspect", str(tmp_path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.one_triton
def test_what_is_a_kernel_and_what_is_a_file(tmp_path):
    assert is_kernel_folder(str(tmp_path))
    assert is_kernel_folder("ab" * 32)
    assert is_kernel_folder("A2" * 26)
    assert not is_kernel_folder("kernels.py:scale")
    assert not is_kernel_folder("package.module")
