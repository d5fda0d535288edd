"""Declaring fragments, compiling them alone, and what goes wrong on the way."""

import inspect
import subprocess
import sys
from pathlib import Path
from types import MethodType

import pytest
import triton
import triton.language as tl

import tle_raw
from tests.support import compile_kernel, ptx_calls
from tle_raw import Const, Element, InOut, Pointer, Tile
from tle_raw.errors import (
    BindingError,
    DialectError,
    FragmentSourceError,
    ReportError,
    ShapeError,
    SignatureError,
    SymbolError,
    UnresolvedSymbolError,
    UnsupportedFeatureError,
)
from tle_raw.fragments.overloaded import Overloaded

pytestmark = pytest.mark.every_triton(2)

ADD = """
template <int M, int K>
__device__ void add(float* t) { for (int i = threadIdx.x; i < M; i += blockDim.x) t[i] += K; }
"""


@tle_raw.dialect("cuda", source=ADD)
def add(t: InOut[Tile["f32", "M"]], k: Const["K"]): ...


def test_a_fragment_compiles_alone_and_without_a_gpu():
    compiled = add.compile(target="cuda:90", M=64, K=3)
    assert compiled.entry.startswith("tle_raw_add_")
    assert f"@{compiled.entry}(i32" in compiled.text
    assert compiled.path.exists() and compiled.instructions > 0


def test_a_second_compilation_comes_from_the_cache():
    first = add.compile(M=32, K=5)
    again = add.compile(M=32, K=5)
    assert again is first, "the record of this process, not that of the disk"
    other = add.compile(M=32, K=6)
    assert other.path != first.path and other.entry != first.entry


def test_targets_are_compiled_apart():
    assert add.compile("cuda:80", M=64, K=1).path != add.compile("sm_90", M=64, K=1).path


@pytest.mark.parametrize(
    ("bindings", "kind", "words"),
    [
        ({}, BindingError, "M  a value   nothing"),
        ({"M": 64}, BindingError, "K  a value   nothing"),
        ({"M": 64, "K": 1, "L": 2}, BindingError, "L  no such name  2"),
        ({"M": 63, "K": 1}, ShapeError, "63"),
    ],
)
def test_compiling_alone_needs_every_name(bindings, kind, words):
    with pytest.raises(kind, match=words):
        add.compile(**bindings)


def test_the_prototype_compiles_when_it_is_filled_in():
    text = add.prototype()
    assert "template <int M, int K>" in text and "tle::tile<float, M> t" in text


def test_a_stub_file_and_a_path_make_the_same_fragment(tmp_path):
    file = tmp_path / "add.cu"
    file.write_text(ADD)

    def add(t: InOut[Tile["f32", "M"]], k: Const["K"]): ...

    wrapped = tle_raw.fragment(file, signature=add)
    declared = tle_raw.dialect("cuda", file=str(file))(add)
    assert wrapped.signature == declared.signature
    assert wrapped.cache_key == declared.cache_key
    assert wrapped.compile(M=64, K=1).path == declared.compile(M=64, K=1).path


def declare(source="__device__ void f(float* p) {}", **options):
    def f(p: InOut[Pointer["f32"]]): ...

    return tle_raw.dialect("cuda", source=source, **options)(f)


def test_an_unknown_dialect_names_the_near_one():
    with pytest.raises(DialectError, match="did you mean 'cuda'"):
        tle_raw.dialect("cudda", source="")(lambda: None)


def test_a_dialect_is_asked_for_by_name():
    with pytest.raises(DialectError, match="takes the dialect's name"):
        tle_raw.dialect(lambda: None)


def test_a_missing_file_is_an_error_at_the_stubs_line():
    def f(p: Pointer["f32"]): ...

    with pytest.raises(FragmentSourceError) as caught:
        tle_raw.dialect("cuda", file="no_such_file.cu")(f)
    assert caught.value.context.fragment == "f"
    assert Path(caught.value.context.source.file).name == "test_fragments.py"


def test_a_signature_without_a_body_is_an_error():
    def f(p: Pointer["f32"]): ...

    with pytest.raises(DialectError, match="source=") as caught:
        tle_raw.dialect("cuda")(f)
    assert caught.value.context.fragment == "f"


def test_wrapping_needs_a_signature():
    with pytest.raises(SignatureError, match="needs a typed signature"):
        tle_raw.fragment("x.cu")


def test_wrapping_needs_to_know_the_dialect():
    def f(p: Pointer["f32"]): ...

    with pytest.raises(DialectError, match="which dialect"):
        tle_raw.fragment("void f() {}", signature=f)


def test_extern_shared_memory_is_refused():
    fragment = declare(
        "__device__ void f(float* p) { extern __shared__ float s[]; s[threadIdx.x] = p[0]; p[1] = s[0]; }"
    )
    with pytest.raises(UnsupportedFeatureError, match="extern __shared__"):
        fragment.compile()


def test_an_undefined_device_function_is_named_before_anything_is_linked():
    fragment = declare("__device__ void helper(float*);\n__device__ void f(float* p) { helper(p); }")
    with pytest.raises(UnresolvedSymbolError, match="helper") as caught:
        fragment.compile()
    assert caught.value.context.fragment == "f"


@pytest.mark.one_triton
def test_a_missing_function_is_named():
    def scael(p: InOut[Pointer["f32"]]): ...

    two = "__device__ void scale(float* p) {}\n__device__ void other(float* p) {}"
    with pytest.raises(SymbolError) as caught:
        tle_raw.dialect("cuda", source=two)(scael).compile()
    assert "scale" in str(caught.value)


def test_a_fragment_without_a_typed_signature_does_not_compile_alone():
    @tle_raw.dialect("cuda", source='extern "C" __device__ void f(int n) {}')
    def f(*args): ...

    with pytest.raises(tle_raw.errors.RegionError, match="no typed signature"):
        f.compile()


def test_errors_survive_copying_and_pickling():
    import copy
    import pickle

    with pytest.raises(BindingError) as caught:
        add.compile()
    for clone in (copy.deepcopy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert str(clone) == str(caught.value)


# --- two fragments in one kernel ---------------------------------------------------------------------------------


def scratch_user(factor):
    return f"""
__device__ float helper(float x) {{ return x * {factor}; }}
__shared__ float scratch[{factor}];
__device__ void use{factor}(float* p) {{
  scratch[threadIdx.x % {factor}] = helper(p[threadIdx.x]);
  __syncthreads();
  p[threadIdx.x] = scratch[0];
}}
"""


@tle_raw.dialect("cuda", source=scratch_user(2))
def use2(p: InOut[Pointer["f32"]]): ...


@tle_raw.dialect("cuda", source=scratch_user(3))
def use3(p: InOut[Pointer["f32"]]): ...


@triton.jit
def helper(x):
    use2(x)
    use3(x)


def test_equal_helper_and_shared_names_do_not_meet_not_even_with_the_kernels():
    kernel = compile_kernel(helper, {"x": "*fp32"})
    assert ptx_calls(kernel) == []
    report = tle_raw.report(kernel)
    assert report.static_shared == 8 + 12
    assert report.entries == ("helper",)


# --- inline=False ------------------------------------------------------------------------------------------------


@tle_raw.dialect("cuda", source="__device__ float twice(float x) { return x * 2; }", inline=False)
def twice(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def calls_twice(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, twice(tl.load(x + i)))


def test_a_fragment_stays_a_function_when_asked():
    kernel = compile_kernel(calls_twice, {"x": "*fp32"}, {"B": 128})
    report = tle_raw.report(kernel)
    assert ptx_calls(kernel) and not report.regions[0].inlined
    assert any("twice" in call for call in report.ptx_calls) and any("twice" in call for call in report.sass_calls)
    assert report.one_kernel
    assert "called" in str(report)


STEPS = " ".join(f"x = sinf(x) * cosf(x + {n}) + sqrtf(x * {n});" for n in range(1, 25))


@tle_raw.dialect("cuda", source=f"__device__ float large(float x) {{ {STEPS} return x; }}")
def large(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def calls_large(x):
    tl.store(x, large(tl.load(x)))


def test_a_fragment_is_inlined_however_large_it_is():
    kernel = compile_kernel(calls_large, {"x": "*fp32"})
    report = tle_raw.report(kernel)
    assert ptx_calls(kernel) == [] and report.one_kernel and report.regions[0].inlined


# --- reports -----------------------------------------------------------------------------------------------------


@triton.jit
def plain(x):
    tl.store(x, 1.0)


def test_a_report_of_a_plain_kernel_is_refused():
    with pytest.raises(ReportError, match="holds no region"):
        tle_raw.report(compile_kernel(plain, {"x": "*fp32"}))


def test_a_report_of_something_else_is_refused():
    with pytest.raises(ReportError, match="needs a compiled kernel"):
        tle_raw.report(plain)


@triton.jit
def calls_add(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, add(tl.load(x + i), 7))


def test_a_report_tells_where_a_region_sits():
    report = tle_raw.report(compile_kernel(calls_add, {"x": "*fp32"}, {"B": 256}))
    region = report.regions[0]
    assert Path(region.call_site.file).name == "test_fragments.py"
    assert "add(tl.load(x + i), 7)" in region.call_site.text
    assert region.instructions > 0 and report.registers > 0 and report.spills == 0
    assert "0f40E00000" in report.excerpt(region), "the addition of 7.0 stands in the region's lines"
    assert "add" in str(report) and "inlined" in str(report)


@pytest.mark.one_triton
def test_a_report_works_in_a_second_process_that_compiled_nothing(tmp_path):
    script = tmp_path / "kernel.py"
    script.write_text(SECOND_PROCESS)
    outputs = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]
    assert outputs[0] == ["1", "1", "True"]
    assert outputs[1] == ["0", "1", "True"]


SECOND_PROCESS = """
import triton, triton.language as tl, tle_raw
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from tle_raw import Element

@tle_raw.dialect("cuda", source="__device__ float third(float x) { return x / 3; }")
def third(x: Element["f32"]) -> Element["f32"]: ...

@triton.jit
def kernel(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, third(tl.load(x + i)))

compiled = []
earlier = triton.knobs.compilation.listener
triton.knobs.compilation.listener = lambda **event: (earlier(**event), compiled.append(not event["cache_hit"]))
k = triton.compile(ASTSource(kernel, {"x": "*fp32", "B": "constexpr"}, {"B": 128}), target=GPUTarget("cuda", 90, 32))
report = tle_raw.report(k)
print(sum(compiled), len(report.regions), report.one_kernel)
"""


@pytest.mark.parametrize("kind", [tle_raw.Fragment, Overloaded])
def test_triton_is_told_what_a_call_takes(kind):
    """Triton asks for the parameters at each call in a kernel, and passes what it knows among them."""
    assert [*inspect.signature(kind.__call__).parameters] == ["self", "args", "_semantic", "_generator", "kwargs"]
    assert [*inspect.signature(MethodType(kind.__call__, kind)).parameters][:2] == ["args", "_semantic"]
