"""Wrong dtypes, missing names and what the foreign compiler refuses: named errors, with both lines."""

from __future__ import annotations

from pathlib import Path

import pytest
import triton

from tests.contracts.running import DIALECTS, compile_for_gpu, dialect, our_error, run_on_cpu
from tests.contracts.subjects import SUBJECTS, integers_kernel
from tests.contracts.unsupported import TYPED_BY_THE_CALL
from tests.support import compile_kernel
from tle_raw.errors import ArgumentTypeError, CompilationFailed, SymbolError, UnsupportedFeatureError

pytestmark = pytest.mark.every_triton(3)

# Whose functions are C++ or IR: a function that is not there is named before anything is compiled.
BY_SYMBOL = ("cuda", "llvm", "mlir", "cupy", "pycuda")
# Whose broken source is that of a kernel over memory.
OVER_MEMORY = ("cupy", "pycuda")
# Whose kernels are looked at before any call of theirs is.
BEFORE_THE_CALL = ("numba", *OVER_MEMORY)


@pytest.mark.parametrize("name", [n for n in DIALECTS if n not in TYPED_BY_THE_CALL])
def test_a_block_of_another_dtype_is_refused_at_the_call(name):
    case = SUBJECTS["element"]
    fragment = dialect(name).SUBJECTS["element"]
    with pytest.raises(triton.CompilationError) as caught:
        compile_kernel(integers_kernel, case.types, {"FRAGMENT": fragment, **case.constants})
    error = our_error(caught.value)
    assert type(error) is ArgumentTypeError and "another dtype" in str(error)
    assert "f32" in str(error) and "i64" in str(error)
    _check_call(error, "FRAGMENT(v, tl.load(w + i")
    assert Path(error.context.source.file).name == f"{name}.py"


def test_a_dialect_that_each_call_types_takes_another_dtype():
    for name in TYPED_BY_THE_CALL:
        case = SUBJECTS["element"]
        fragment = dialect(name).SUBJECTS["element"]
        kernel = compile_kernel(integers_kernel, case.types, {"FRAGMENT": fragment, **case.constants})
        assert "sitofp" in kernel.asm["tle"] + kernel.asm["ttir"]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_function_that_is_not_there_is_named(name):
    with pytest.raises(Exception) as caught:
        compile_for_gpu("element", dialect(name).missing())
    error = our_error(caught.value)
    assert "absent" in str(error)
    assert Path(error.context.source.file).name == f"{name}.py"
    if name in BY_SYMBOL:
        assert type(error) is SymbolError and "no function `absent`" in str(error)
        assert ("halved" if name in OVER_MEMORY else "there") in error.hint


@pytest.mark.parametrize("target", ["cuda:90", "cpu"])
@pytest.mark.parametrize("name", DIALECTS)
def test_what_the_compiler_refuses_is_told_with_its_line(name, target):
    module = dialect(name)
    subject = "pointer" if name in OVER_MEMORY else "element"
    with pytest.raises(Exception) as caught:
        (compile_for_gpu if target == "cuda:90" else run_on_cpu)(subject, module.broken())
    error = our_error(caught.value)
    assert isinstance(error, UnsupportedFeatureError if name == "tilelang" else CompilationFailed)
    line = getattr(module, "BROKEN_LINE", "undeclared")
    assert line in error.context.source.text and Path(error.context.source.file).name == f"{name}.py"
    lines = Path(module.__file__).read_text().splitlines()
    assert lines[error.context.source.line - 1].strip()
    if name not in BEFORE_THE_CALL:
        _check_call(error, "FRAGMENT(")


def _check_call(error, text):
    """The call's place is a line of the kernel."""
    site = error.context.call_site
    assert Path(site.file).name == "subjects.py" and text in site.text
    assert text in Path(site.file).read_text().splitlines()[site.line - 1]
