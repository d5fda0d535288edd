"""A fragment in generated code: found in this process, by its module, or made of its declaration; IR to look at."""

import subprocess
import sys

import pytest
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

import tle_raw
from tle_raw import Element, InOut, Pointer, Tile, mlir
from tle_raw.errors import RegionError
from tle_raw.fragments.generated_code import fragment

ADD_ONE = "__device__ float add_one(float x) { return x + 1; }"
MODULE = f"""
import tle_raw
from tle_raw import Element

@tle_raw.dialect("cuda", source={ADD_ONE!r})
def add_one(x: Element["f32"]) -> Element["f32"]: ...
"""


@tle_raw.dialect("cuda", source=ADD_ONE)
def add_one(x: Element["f32"]) -> Element["f32"]: ...


@tle_raw.dialect("mlir")
def from_python(x: InOut[Tile["f32", "N"]]):
    x[mlir.thread_id()] = 0.0


@tle_raw.dialect(
    "cuda",
    source="""
extern "C" __device__ void add(float* t, const float* s, int* count) {
  t[threadIdx.x] += s[0];
  if (threadIdx.x == 0) ++*count;
}
""",
)
def add(t: InOut[Tile["f32", "N"]], s: Pointer["f32"], count: Pointer["i32"]): ...


@triton.jit
def kernel(x, s, count, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(x + at, add(tl.load(x + at), s, count))


def traverse(symbol_name, symbol):
    """As torch before 2.13 writes what a kernel calls: by the name that its function has."""
    return symbol.src


def test_the_source_defines_the_kernels_own_name_for_it():
    made: dict[str, object] = {}
    exec(traverse("plus_one", add_one), made)
    assert made["plus_one"] is add_one


def elsewhere(program: str, tmp_path) -> str:
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    return run.stdout + run.stderr


def last_line_of(source: str) -> str:
    return source.strip().splitlines()[-1].partition(" = ")[2]


def test_the_text_defines_the_same_object():
    source, name = add_one.src, add_one.fn.__name__
    assert source.startswith(f"def {name}(): ...\n")
    scope = {}
    exec(source, scope)
    assert scope[name] is add_one


def test_an_edit_gives_other_text():
    other = tle_raw.fragment(ADD_ONE.replace("1", "2"), dialect="cuda", signature=add_one.signature)
    assert other.fn.__name__ != add_one.fn.__name__


def test_another_process_imports_the_module(tmp_path):
    (tmp_path / "add_one_module.py").write_text(MODULE)
    here = "import add_one_module; print(add_one_module.add_one.src)"
    source = elsewhere(here, tmp_path)
    assert "module='add_one_module'" in source
    there = f"import tle_raw.fragments.generated_code\nprint({last_line_of(source)})"
    assert "cuda fragment add_one(x: Element[f32])" in elsewhere(there, tmp_path)


def test_a_programs_own_fragment_is_sent_along(tmp_path):
    (tmp_path / "program.py").write_text(MODULE + "print(add_one.src)\n")
    run = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert "declared='" in run.stdout, run.stderr
    there = f"import tle_raw.fragments.generated_code\nprint({last_line_of(run.stdout)})"
    assert "cuda fragment add_one(x: Element[f32])" in elsewhere(there, tmp_path)


def test_what_cannot_be_found_is_an_error():
    with pytest.raises(RegionError, match="cannot find"):
        fragment("0" * 64, name="lost")


def test_python_bodies_are_not_sent_along(tmp_path, monkeypatch):
    monkeypatch.setattr("tle_raw.fragments.generated_code._module_of", lambda fragment: "")
    assert "declared=''" in from_python.src


def shown_ir() -> str:
    """Triton IR as torch.compile makes it: without stages."""
    target = GPUTarget("cuda", 90, 32)
    backend, context = make_backend(target), ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    options = backend.parse_options({})
    types = {"x": "*fp32", "s": "*fp32", "count": "*i32", "B": "constexpr"}
    source = ASTSource(kernel, types, {"B": 128})
    implementation = backend.get_codegen_implementation(options)
    given = (target, options, implementation, backend.get_module_map(), context)
    return str(source.make_ir(*given))


def test_ir_that_nobody_compiles_shows_what_is_written():
    stores = [line.split()[1].rstrip(",") for line in shown_ir().splitlines() if "tt.store" in line]
    assert "%count" in stores and "%s" not in stores


def test_ir_that_was_made_to_be_looked_at_is_not_compiled(tmp_path):
    file = tmp_path / "kernel.ttir"
    file.write_text(shown_ir())
    with pytest.raises(RegionError, match="made to be looked at"):
        triton.compile(str(file), target=GPUTarget("cuda", 90, 32))


def test_a_hook_that_replaced_ours_is_still_an_error():
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.add_stages_inspection_hook = lambda *given: None
        with pytest.raises(Exception, match="add_stages_inspection_hook"):
            shown_ir()


def test_a_hook_that_calls_ours_is_not(tmp_path):
    with triton.knobs.runtime.scope(), triton.knobs.compilation.scope():
        earlier = triton.knobs.runtime.add_stages_inspection_hook
        triton.knobs.compilation.always_compile = True
        triton.knobs.runtime.add_stages_inspection_hook = lambda *given, **named: earlier(*given, **named)
        types = {"x": "*fp32", "s": "*fp32", "count": "*i32", "B": "constexpr"}
        triton.compile(ASTSource(kernel, types, {"B": 128}), target=GPUTarget("cuda", 90, 32))
        assert "tt.store %count" in shown_ir()
