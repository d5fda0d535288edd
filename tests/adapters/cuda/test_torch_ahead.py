"""Torch's numbers and host classes are precompiled once for all programs that take its host headers."""

import importlib.util
from pathlib import Path

import pytest

import tle_raw
from tle_raw.adapters.cpp import precompiled_headers
from tle_raw.adapters.cpp.installed_headers import folder_with
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cuda.host_code import first_plan
from tle_raw.adapters.cuda.host_files import TORCH, ProgramFiles
from tle_raw.adapters.cuda.torch_ahead import LIGHT_NAME, torch_ahead
from tle_raw.adapters.cuda.torch_host_headers import LIGHT, host_headers, leads_to_hosts

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

PROGRAM = """
#include <torch/extension.h>
__global__ void halve(c10::Half* x) { x[threadIdx.x] = x[threadIdx.x] * c10::Half(0.5f); }
void launch(at::Tensor x) { halve<<<1, 32>>>(x.data_ptr<c10::Half>()); }
"""


def ahead(text: str, defines: tuple[str, ...] = (), block: tuple[int, ...] = (), is_extension: bool = False):
    options, files = Options(None, text, None, defines=defines, block=block), ProgramFiles((), (text,))
    return torch_ahead(options, files, files.texts, is_extension)


@needs_torch
def test_a_program_with_torchs_host_headers_reads_what_stands_in_for_them_ahead():
    assert ahead(PROGRAM) == (LIGHT_NAME,)
    assert ahead("#include <c10/macros/Macros.h>\n") == ()  # nothing stands in for it


@needs_torch
def test_macros_that_make_torchs_headers_others_keep_them_in_their_place():
    assert ahead(f"#define __CUDA_NO_HALF_OPERATORS__\n{PROGRAM}") == ()
    assert ahead(PROGRAM, defines=("USE_ROCM=1",)) == ()
    assert ahead(f"#define USE_ROCM_OR_SM80 1\n{PROGRAM}") == (LIGHT_NAME,)
    undefined = f"#undef __CUDA_NO_HALF_OPERATORS__\n{PROGRAM}"
    assert ahead(undefined) == (LIGHT_NAME,) and ahead(undefined, is_extension=True) == ()


@needs_torch
def test_blocks_whose_shape_changes_the_headers_precompile_none_of_their_own():
    assert ahead(PROGRAM, block=(128,)) == (LIGHT_NAME,) and ahead(PROGRAM, block=(32, 4)) == ()


@needs_torch
@pytest.mark.one_triton
def test_a_second_program_with_torchs_headers_precompiles_nothing(tmp_path, monkeypatch):
    made, precompile = [], precompiled_headers._precompile
    monkeypatch.setattr(precompiled_headers, "_precompile", lambda *a: made.append(a[3]) or precompile(*a))
    other = PROGRAM.replace("extension.h>", "types.h>\n#include <ATen/cuda/CUDAContext.h>").replace("0.5f", "0.25f")
    with tle_raw.knobs.scope():
        tle_raw.knobs.cache.dir, tle_raw.knobs.target = tmp_path, "cuda:90"
        for text in (PROGRAM, other):
            kernel = tle_raw.fragment(text, dialect="cuda", symbol="halve").as_kernel(block=32).compile("cuda:90")
            assert kernel.asm["cubin"]
    assert len(made) == 1 and LIGHT_NAME in made[0]


@needs_torch
def test_headers_of_torchs_interface_for_cpp_are_told_by_what_they_include():
    torch = folder_with(TORCH)
    assert leads_to_hosts(torch, ["torch/serialize/tensor.h"])
    assert host_headers(torch, ["torch/serialize/tensor.h"])["torch/serialize/tensor.h"] == LIGHT


def test_a_name_alone_hides_a_header_where_an_include_is_looked_up_by_it(tmp_path: Path):
    (tmp_path / "crt").mkdir()
    outer, inner, other = tmp_path / "outer.h", tmp_path / "crt" / "inner.h", tmp_path / "crt" / "other.h"
    outer.write_text('#include "crt/inner.h"\n#include <other.h>\n')
    inner.write_text('#include "own.h"\n#include "outer.h"\n')
    (tmp_path / "crt" / "own.h").write_text("")
    other.write_text("")
    found = precompiled_headers._spellings([outer, inner, other, tmp_path / "crt" / "own.h"])
    assert {"outer.h", "other.h", "crt/inner.h", "crt/own.h"} <= found and not {"inner.h", "own.h"} & found
    # where only the folder above is searched, no include that is read can mean it by that name
    assert "other.h" not in precompiled_headers._spellings([outer, inner, other], [tmp_path])


def test_what_the_texts_tell_is_not_learnt_from_errors():
    """Each round of learning is a run of the compiler over everything."""
    text = "#include <torch/extension.h>\n#include <cblas.h>\nstruct F : thrust::unary_function<int, int> {};\n"
    plan = first_plan(ProgramFiles((), (text,)))
    assert plan.includes == ("tle_raw/thrust_before_3.h",) and "cblas.h" in plan.missing
    assert folder_with("Python.h") in plan.folders
    assert first_plan(ProgramFiles((), ("struct F {};",))).includes == ()
