"""What kernels link of a library as it was packed: read as it was written, by the release that packed it alone."""

import json
import shutil
from pathlib import Path

import pytest

from tests.libraries.conftest import NO_CLANG
from tests.libraries.test_packed import USES
from tle_raw.knobs import knobs
from tle_raw.libraries.fitted import fitted_file, fitted_from_json, fitted_to_json
from tle_raw.libraries.packed_files import as_json, read_index
from tle_raw.linker.llvm.global_effects import GlobalEffects
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.prepare import LinkableModule
from tle_raw.store.entries import is_intact

pytestmark = pytest.mark.one_triton

SHARED = (SharedVariable("odd \u00e9 name", 48, 16), SharedVariable("s", 4, 4))
NEWER = LinkableModule("; newer \u00e9\n", "f", SHARED, True, 17, ("g", "h"), GlobalEffects(True, False))
OLDER = LinkableModule("; older\n", "f", SHARED, True, 17, ("g", "h"), GlobalEffects(True, False))


@pytest.mark.parametrize(("older", "module"), [(True, OLDER), (False, NEWER)])
def test_a_module_is_read_as_it_was_written(older, module):
    written = json.loads(as_json(fitted_to_json(OLDER, NEWER)))
    fitted = fitted_from_json(written, "f", older)
    assert fitted is not None
    assert (fitted.file, fitted.sha256) == fitted_file(module.text)
    assert vars(fitted.module) == {**vars(module), "text": ""}


def test_another_release_or_other_settings_take_none():
    written = json.loads(as_json(fitted_to_json(OLDER, NEWER)))
    assert fitted_from_json({**written, "for": "0" * 32}, "f", True) is None
    assert fitted_from_json({}, "f", True) is None
    with knobs.scope() as settings:
        settings.like_nvcc = not settings.like_nvcc
        assert fitted_from_json(written, "f", True) is None
    assert fitted_from_json(written, "f", True) is not None


def test_a_file_is_named_by_what_it_holds(tmp_path):
    name, _ = fitted_file("define void @f()\n")
    file = tmp_path / Path(name).name
    file.write_text("define void @f()\n")
    assert is_intact(file)
    file.write_text("define void @g()\n")
    assert not is_intact(file)


@pytest.fixture
def copy(acme, tmp_path) -> Path:
    return Path(shutil.copytree(acme, tmp_path / "copy"))


def edit_functions(folder: Path, edit) -> None:
    """Edit what stands of each piece of code, and write the digests anew."""
    package, index = folder / "acme_math", json.loads((folder / "acme_math" / "library.json").read_text())
    for function in index["functions"]:
        file = package / "functions" / f"{function[0]}.json"
        values = json.loads(file.read_text())
        for overload in values["overloads"]:
            for code in overload["code"]:
                edit(code)
        file.write_bytes(as_json(values))
        function[3] = fitted_file(file.read_text())[1]
    (package / "library.json").write_bytes(as_json(index))


PRINTS = "\nimport hashlib\nprint('ptx', hashlib.sha256(compiled(90).asm['ptx'].encode()).hexdigest())\n"


def test_without_it_the_same_kernel_is_made_of_the_code(acme, copy, program, tmp_path):
    told = []
    edit_functions(copy, lambda code: code.get("fitted", {}).update({"for": "another release"}))
    shutil.rmtree(copy / "acme_math" / "fitted")
    assert read_index(copy / "acme_math").title == "acme_math 0.1.0"
    for number, folder in enumerate((acme, copy)):
        new = {f"{each}_CACHE_DIR": str(tmp_path / f"{each}{number}") for each in ("TLE_RAW", "TRITON")}
        told.append(program(USES + PRINTS, folder, **NO_CLANG, **new))
    assert told[0] == told[1] and "ptx" in told[0]


REPLACES = """
from pathlib import Path
import acme_math

@triton.jit
def next_kernel(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, clip(softplus(tl.load(x + at)), 0.5, 1.5))

compiled(90)
print("first is compiled")
for file in Path(acme_math.__file__).parent.glob("fitted/*.ll"):
    file.write_text(file.read_text().replace('2.000000e+01', '3.000000e+01'))
compiled(90, next_kernel)
"""


def test_a_file_that_changes_after_its_first_use_is_missed_by_the_next_kernel(copy, program, tmp_path):
    new = {f"{each}_CACHE_DIR": str(tmp_path / each) for each in ("TLE_RAW", "TRITON")}
    told = program(USES + REPLACES, copy, fails=True, **new)
    assert "first is compiled" in told and "the library acme_math 0.1.0" in told and "has another digest than" in told
