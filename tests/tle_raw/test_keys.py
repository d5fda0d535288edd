"""What changes a kernel's key, and what an edit does to a running process."""

import os
import threading
from types import SimpleNamespace

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

import tle_raw
from tests.support import cause_of, compile_kernel
from tle_raw import Element
from tle_raw.frontends.raw import call
from tle_raw.regions import stages

pytestmark = pytest.mark.every_triton(2)


def scaled(folder, **options):
    def scale(x: Element["f32"]) -> Element["f32"]: ...

    return tle_raw.dialect("cuda", file=str(folder / "scale.cu"), **options)(scale)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "scale.cu").write_text('#include "factor.h"\n__device__ float scale(float x) { return x * FACTOR; }\n')
    (tmp_path / "factor.h").write_text("#define FACTOR 2.0f\n")
    (tmp_path / "unrelated.h").write_text("")
    return tmp_path


def rewrite(file, text):
    """An edit that a clock of any grain shows."""
    file.write_text(text)
    stamp = file.stat().st_mtime_ns + 10_000_000
    os.utime(file, ns=(stamp, stamp))


def test_equal_content_gives_equal_keys(files):
    assert scaled(files).cache_key == scaled(files).cache_key


@pytest.mark.parametrize(
    "change",
    [
        {"flags": ("-ffast-math",)},
        {"defines": {"UNUSED": "1"}},
        {"symbol": "::scale"},
        {"inline": False},
    ],
    ids=lambda c: next(iter(c)),
)
def test_options_change_the_key(files, change):
    assert scaled(files).cache_key != scaled(files, **change).cache_key


def test_an_included_header_changes_the_key_and_an_unrelated_file_does_not(files):
    fragment = scaled(files)
    before = fragment.cache_key
    rewrite(files / "unrelated.h", "#define X")
    assert not fragment.refresh() and fragment.cache_key == before
    rewrite(files / "factor.h", "#define FACTOR 3.0f\n")
    assert fragment.refresh() and fragment.cache_key != before


def test_the_compiler_is_in_the_key(files, monkeypatch):
    fragment = scaled(files)
    before = fragment.cache_key
    monkeypatch.setattr(type(fragment._adapter), "compiler_identity", lambda self: "another compiler")
    assert scaled(files).cache_key != before


def test_this_packages_own_sources_are_in_the_key(files, monkeypatch):
    import tle_raw.fragments.keyed_source

    before = scaled(files).cache_key
    monkeypatch.setattr(tle_raw.fragments.keyed_source, "package_identity", lambda: "another version")
    assert scaled(files).cache_key != before


@pytest.fixture
def no_gpu_driver():
    """A driver that knows its target and launches nothing: ``warmup`` compiles as a launch would."""
    driver = triton.runtime.driver
    there = driver._active
    target = GPUTarget("cuda", 90, 32)
    fake = SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: 0,
        get_current_stream=lambda device: 0,
        # Triton 3.9 unloads a collected kernel, here one of another test, from the driver of the moment.
        utils=SimpleNamespace(unload_module=lambda module: None),
    )
    driver.set_active(fake)
    yield
    driver._active = there


def test_an_edited_header_recompiles_every_kernel_of_the_process_at_its_next_launch(files, no_gpu_driver):
    scale = scaled(files)

    @triton.jit
    def inner(v):
        return scale(v)

    @triton.jit
    def first(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), inner(tl.load(x + tl.arange(0, B))))

    @triton.jit
    def second(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), 1 + scale(tl.load(x + tl.arange(0, B))))

    def launch(kernel):
        return kernel.warmup(pointer(), B=128, grid=(1,)).asm["ptx"]

    old = [launch(first), launch(second)]
    assert [launch(first), launch(second)] == old
    rewrite(files / "factor.h", "#define FACTOR 3.0f\n")
    new = [launch(first), launch(second)]
    for before, after in zip(old, new):
        assert "0f40400000" not in before and "0f40400000" in after, "3.0f is in the new code only"
    rewrite(files / "factor.h", "#define FACTOR 2.0f\n")
    assert [launch(first), launch(second)] == old


def pointer():
    torch = pytest.importorskip("torch")
    return torch.float32


@pytest.mark.one_triton
@pytest.mark.parametrize("watch_files", [True, False])
def test_disabled_passes_make_another_kernel_at_the_next_launch(files, no_gpu_driver, watch_files):
    scale = scaled(files)

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    with tle_raw.knobs.scope() as knobs:
        knobs.watch_files = watch_files
        hashes = []
        for names in ("", "pair-words", "pair-words", ""):
            knobs.disable_passes = names
            hashes.append(kernel.warmup(pointer(), B=128, grid=(1,)).hash)
    assert hashes[0] == hashes[3] != hashes[1] == hashes[2]


@pytest.mark.one_triton
def test_an_edited_header_is_seen_by_the_next_compilation_ahead_of_time(files):
    scale = scaled(files)

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    old = compile_kernel(kernel, {"x": "*fp32"}, {"B": 128}).asm["ptx"]
    rewrite(files / "factor.h", "#define FACTOR 5.0f\n")
    assert "0f40A00000" in compile_kernel(kernel, {"x": "*fp32"}, {"B": 128}).asm["ptx"]
    rewrite(files / "factor.h", "#define FACTOR 2.0f\n")
    assert compile_kernel(kernel, {"x": "*fp32"}, {"B": 128}).asm["ptx"] == old


@pytest.mark.one_triton
def test_a_mended_header_is_seen_after_a_compilation_that_failed(files):
    rewrite(files / "factor.h", "#define FACTOR nothing\n")
    scale = scaled(files)

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    with pytest.raises(tle_raw.errors.CompilationFailed):
        compile_kernel(kernel, {"x": "*fp32"}, {"B": 128})
    broken = kernel.cache_key
    rewrite(files / "factor.h", "#define FACTOR 5.0f\n")
    assert "0f40A00000" in compile_kernel(kernel, {"x": "*fp32"}, {"B": 128}).asm["ptx"]
    assert kernel.cache_key != broken, "the code would be stored under the key of what failed"


def test_an_edit_after_the_kernels_key_was_made_is_an_error_not_a_wrong_kernel(files, monkeypatch):
    scale, edits = scaled(files), ["#define FACTOR 5.0f\n"]
    check_stages = call.check_stages

    def edit_while_it_is_traced(options):
        joined = check_stages(options)
        if edits:
            rewrite(files / "factor.h", edits.pop())
        return joined

    monkeypatch.setattr(call, "check_stages", edit_while_it_is_traced)

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    with pytest.raises(tle_raw.errors.RegionError, match="changed after"):
        compile_kernel(kernel, {"x": "*fp32"}, {"B": 256})
    assert "0f40A00000" in compile_kernel(kernel, {"x": "*fp32"}, {"B": 256}).asm["ptx"]


@pytest.mark.one_triton
def test_a_source_file_that_is_gone_is_named_with_the_fragment_and_its_line(files):
    scale = scaled(files)

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    old = compile_kernel(kernel, {"x": "*fp32"}, {"B": 128}).asm["ptx"]
    text = (files / "scale.cu").read_text()
    (files / "scale.cu").unlink()
    with pytest.raises(triton.compiler.errors.CompilationError) as caught:
        compile_kernel(kernel, {"x": "*fp32"}, {"B": 128})
    error = cause_of(caught.value)
    assert isinstance(error, tle_raw.errors.FragmentSourceError)
    assert error.context.fragment == "scale" and error.context.source == scale.location
    assert "scale(tl.load" in error.context.call_site.text
    (files / "scale.cu").write_text(text)
    assert compile_kernel(kernel, {"x": "*fp32"}, {"B": 128}).asm["ptx"] == old


def test_a_fragment_compiles_once_for_many_configurations(files, monkeypatch):
    scale = scaled(files, defines={"ONCE": "1"})

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    adapter, runs = type(scale._adapter), []
    compile_once = adapter.compile
    monkeypatch.setattr(adapter, "compile", lambda *a: runs.append(1) or compile_once(*a))
    threads = [
        threading.Thread(target=compile_kernel, args=(kernel, {"x": "*fp32"}, {"B": size}), kwargs={"num_warps": warps})
        for size in (128, 256)
        for warps in (2, 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [1]


# --- hooks -------------------------------------------------------------------------------------------------------


@pytest.fixture
def slot():
    there = triton.knobs.runtime.add_stages_inspection_hook
    yield triton.knobs.runtime
    triton.knobs.runtime.add_stages_inspection_hook = there
    stages.install()


def test_a_hook_that_was_there_runs_first(slot, files):
    seen = []

    def earlier(self=None, stages=None, options=None, language=None, capability=None):
        seen.append("stages" if self is not None else "key")
        return "mine", "mine"

    slot.add_stages_inspection_hook = earlier
    stages.install()
    stages.install()
    scale = scaled(files)

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    compile_kernel(kernel, {"x": "*fp32"}, {"B": 128})
    assert seen.count("stages") == 1
    assert slot.add_stages_inspection_hook() == ("mine", "mine")


def test_a_replaced_hook_is_an_error_not_a_wrong_kernel(slot, files):
    scale = scaled(files)

    @triton.jit
    def kernel(x, B: tl.constexpr):
        tl.store(x + tl.arange(0, B), scale(tl.load(x + tl.arange(0, B))))

    slot.add_stages_inspection_hook = None
    with pytest.raises(triton.compiler.errors.CompilationError, match="was replaced after"):
        compile_kernel(kernel, {"x": "*fp32"}, {"B": 64})
    compile_kernel(kernel, {"x": "*fp32"}, {"B": 64})
