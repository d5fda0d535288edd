"""What is added to a kernel's source that torch copies: the names of tle_raw in it, and what its code depends on."""

import sys
import types

import pytest
import triton
import triton.language as tl

import tle_raw
import tle_raw.language as tle
from tle_raw import Element
from tle_raw.fragments.generated_kernels import FUNCTION, WRITER, names_of
from tle_raw.language import gpu
from tle_raw.language import local_load as load_it
from tle_raw.when_imported import when_imported

pytestmark = pytest.mark.one_triton
ADD_ONE = "__device__ float add_one(float x) { return x + 1; }"


@tle_raw.dialect("cuda", source=ADD_ONE)
def add_one(x: Element["f32"]) -> Element["f32"]: ...


@triton.jit
def helper(buffer, x, B: tl.constexpr):
    gpu.copy(x + tl.arange(0, B), buffer, [B])
    return load_it(buffer)


@triton.jit
def kernel(x, B: tl.constexpr):
    buffer = tle.gpu.alloc([B], tl.float32)
    tl.store(x + tl.arange(0, B), add_one(helper(buffer, x, B)))


@triton.jit
def plain(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), types)


def bound(text):
    scope = {}
    exec(text, scope)
    return scope


def test_names_of_the_kernel_and_of_what_it_calls():
    scope = bound(names_of(kernel))
    assert scope["tle"] is tle and scope["gpu"] is gpu and scope["load_it"] is load_it
    assert "tl" not in scope and "add_one" not in scope  # which torch itself writes


def test_nothing_is_added_to_other_kernels():
    assert names_of(plain) == ""


def test_a_fragment_of_a_module():
    module = types.ModuleType("planted_fragments")
    module.add_one = add_one
    sys.modules["planted_fragments"] = module
    try:

        @triton.jit
        def by_module(x, B: tl.constexpr):
            tl.store(x, module.add_one(tl.load(x)))

        text = names_of(by_module)
        assert "import planted_fragments as module" not in text  # nobody else can import it
        assert "# tle_raw " in text
    finally:
        del sys.modules["planted_fragments"]


def test_a_fragment_of_an_enclosing_function():
    own = tle_raw.fragment(ADD_ONE.replace("1", "2"), dialect="cuda", signature=add_one.signature)

    @triton.jit
    def closed(x, B: tl.constexpr):
        tl.store(x, own(tl.load(x)))

    assert bound(names_of(closed))["own"] is own


def test_an_edited_fragment_is_another_text(tmp_path):
    file = tmp_path / "add_one.cu"
    file.write_text(ADD_ONE)

    @tle_raw.dialect("cuda", file=file)
    def from_file(x: Element["f32"]) -> Element["f32"]: ...

    @triton.jit
    def uses_it(x, B: tl.constexpr):
        tl.store(x, from_file(tl.load(x)))

    before = names_of(uses_it)
    assert before == names_of(uses_it)
    file.write_text(ADD_ONE.replace("x + 1", "x + 1.5f"))
    assert names_of(uses_it).splitlines()[1] != before.splitlines()[1]


def test_torchs_function_is_told_once_it_is_there():
    pytest.importorskip("torch")
    from importlib import import_module

    writer = import_module(WRITER)
    source = getattr(writer, FUNCTION)(kernel)
    assert "import tle_raw.language as tle\n" in source
    assert bound_name(source, "add_one")


def bound_name(source, name):
    return any(line.startswith(f"{name} = ") for line in source.splitlines())


@pytest.mark.parametrize("early", [False, True])
def test_something_is_done_once_a_module_is_imported(tmp_path, monkeypatch, early):
    (tmp_path / "seldom_needed.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "seldom_needed", raising=False)
    seen, finders = [], list(sys.meta_path)
    if early:
        when_imported("seldom_needed", lambda module: seen.append(module.value))
        assert not seen
    import seldom_needed

    if not early:
        when_imported("seldom_needed", lambda module: seen.append(module.value))
    assert seen == [1] and sys.meta_path == finders
    assert seldom_needed.__loader__.exec_module.__func__ is type(seldom_needed.__loader__).exec_module
