"""The Linalg form of every operation by itself, and that no operation is left out of the table in README.md."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch_mlir.ir")

from triton._C.libtriton import ir

from tests.flir.cpu.convert.forms import FORMS, module
from tests.flir.cpu.convert.support import assert_lines
from tests.support import TRITON
from tle_raw.flir.cpu.convert import convert
from tle_raw.flir.cpu.convert.kernel import BEFORE_REACH, CONVERSIONS, ELEMENTWISE
from tle_raw.flir.cpu.convert.scalars import _EMITTERS
from tle_raw.targets.cpu.options import CpuOptions

# Which versions of Triton know an operation, where not all do.
SINCE = dict.fromkeys(["tt.atomic_load", "tt.atomic_store", "tt.atomic_poll", "tt.approx_divf"], (3, 9))
TABLE = Path(__file__).with_name("README.md")


def _converted(text: str, folder: Path) -> str:
    context = ir.context()
    ir.load_dialects(context)
    path = folder / "kernel.ttir"
    path.write_text(text)
    parsed = ir.parse_mlir_module(str(path), context)
    parsed.context = context
    return convert(parsed, {}, CpuOptions())


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.operation)
@pytest.mark.every_triton(30)
def test_the_form_of_one_operation(form, tmp_path):
    if SINCE.get(form.operation, (3, 6)) > TRITON:
        pytest.skip(f"Triton has {form.operation} from {'.'.join(map(str, SINCE[form.operation]))} on")
    text = _converted(module(form), tmp_path)
    checks = "\n".join(f"// CHECK: {line.strip()}" for line in form.checks.splitlines())
    assert_lines(text, f"// CHECK: func.func private @kernel\n{checks}\n// CHECK: func.func @tle_launch", tmp_path)


def _rows() -> dict[str, tuple[str, str]]:
    """Operation -> the file of its conversion and its test of numbers."""
    pattern = r"^\| `([\w.]+)` \| `([\w.]+)` \| `([\w.:]+)` \|"
    return {m[1]: (m[2], m[3]) for m in re.finditer(pattern, TABLE.read_text(), re.MULTILINE)}


def test_every_conversion_is_in_the_table():
    registered = (set(CONVERSIONS) | set(_EMITTERS)) - {BEFORE_REACH, ELEMENTWISE}
    listed = _rows()
    assert not registered - set(listed), "conversions without a row in README.md"
    unknown = {name for name in set(listed) - registered if not name.startswith(("arith.", "math."))}
    assert not unknown, "rows of README.md without a conversion"


def test_every_operation_has_a_form():
    without = {"tt.call", "tt.elementwise_inline_asm"}  # tested by kernels
    without |= {"tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents"}
    without |= {name for name in _rows() if name.startswith(("ttg.", "ttng."))}  # by kernels: memory, not form
    without |= {"builtin.unrealized_conversion_cast"}  # descriptors that are handed to partitions
    assert set(_rows()) - {form.operation for form in FORMS} == without


def test_every_row_names_a_file_and_a_test():
    folder = Path(__file__).parent
    conversions = folder.parents[3] / "tle_raw" / "flir" / "cpu" / "convert"
    for operation, (conversion, test) in _rows().items():
        file, name = test.split("::")
        assert (conversions / conversion).exists(), operation
        assert f"def {name}(" in (folder / file).read_text(), operation


def test_every_builder_function_is_in_the_table():
    """What the language of the installed Triton can make: a new one needs a conversion, or a reason to have none."""
    made = {name for name in dir(ir.builder) if name.startswith("create_")}
    listed = set(re.findall(r"`(create_\w+)`", TABLE.read_text()))
    assert not made - listed, "new operations of Triton's: add conversion, form, test and row"
