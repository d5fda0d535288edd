"""Units of one architecture begin alike, so that their headers are precompiled once."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.adapters.tilelang.linked import kernels
from tests.adapters.tilelang.linked.linking import linked
from tle_raw.adapters.tilelang.linked.beginning import common_beginning
from tle_raw.linker.tools.wheels import package_folder

pytestmark = pytest.mark.one_triton

SOURCES = Path(package_folder("tilelang") or "", "src")
HEAD = '#line 1 "<tle_raw wrapper>"\n#include <tle_raw/tilelang.h>\n#include <cuda.h>\n'
TAIL = "#ifdef ENABLE_BF16\n#include <tl_templates/cuda/cuda_bf16_fallbacks.cuh>\n#endif\n\n"


def begins(arch, *names, sources=SOURCES):
    includes = "".join(f"#include <{name}>\n" for name in names)
    return common_beginning(f"{HEAD}{includes}{TAIL}__device__ void f() {{}}\n#include <late.h>\n", arch, sources)


def own(*names):
    return HEAD + "".join(f"#include <{name}>\n" for name in names) + TAIL


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_120a"])
def test_whatever_a_kernel_asks_for_the_beginning_is_the_same(arch):
    product = begins(arch, "tl_templates/cuda/instruction/mma.h", "tl_templates/cuda/copy.h")
    assert product == begins(arch, "math_constants.h", "tl_templates/cuda/reduce.h")
    assert product.startswith(HEAD) and product.endswith(TAIL)
    assert "#include <math_constants.h>\n" in product and "late.h" not in product
    assert ("wgmma.h" in product) == (arch == "sm_90a")


@pytest.mark.parametrize("arch, name", [("sm_100a", "reduce.h"), ("sm_90a", "instruction/tcgen05mma.h")])
def test_other_headers_are_precompiled_as_they_are_asked_for(arch, name):
    asked = ("tl_templates/cuda/debug.h", f"tl_templates/cuda/{name}")
    assert begins(arch, *asked) == own(*asked)


def test_a_unit_without_tilelangs_headers_begins_as_it_is():
    assert begins("sm_90a") == own()


def test_a_header_that_this_release_lacks_is_left_out(tmp_path):
    file = tmp_path / "tl_templates" / "cuda" / "reduce.h"
    file.parent.mkdir(parents=True)
    file.touch()
    asked = ("tl_templates/cuda/reduce.h",)
    assert begins("sm_80", *asked, sources=tmp_path) == own("math_constants.h", *asked)


def test_the_code_is_that_of_the_kernels_own_headers(monkeypatch):
    """An elementwise kernel, which asks for few: the same functions, whatever else has been read before."""
    compiling = import_module("tle_raw.adapters.tilelang.linked.compile_linked")
    compile_unit, begun, texts = compiling.compile_unit, [], []

    def watched(*arguments, beginning, **others):
        begun.append(beginning)
        for given in (beginning, ""):
            run = compile_unit(*arguments, beginning=given, **others)
            texts.append([line for line in run.text.splitlines() if not line.startswith("!")])
        return run

    monkeypatch.setattr(compiling, "compile_unit", watched)
    linked(kernels.axpy()).compile(target="cuda:90")
    assert len(begun) == 1 and "wgmma.h" in begun[0]
    assert texts[0] and texts[0] == texts[1]
