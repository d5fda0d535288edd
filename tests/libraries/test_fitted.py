"""What kernels link of a library as it was packed: read as it was written, by whoever would make the same."""

import ast
import inspect
import json
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tle_raw
from tests.libraries.conftest import NO_CLANG
from tests.libraries.test_packed import USES
from tle_raw.fragments.adapter import CompilerOutput
from tle_raw.fragments.binding import bind_names
from tle_raw.knobs import knobs
from tle_raw.libraries import fitted as fitting
from tle_raw.libraries.fitted import MAKERS, fitted_file, fitted_from_json, fitted_to_json
from tle_raw.libraries.packed_files import as_json, read_index
from tle_raw.libraries.signature_text import read_signature
from tle_raw.linker.llvm.global_effects import GlobalEffects
from tle_raw.linker.llvm.shared_memory import SharedVariable
from tle_raw.linker.prepare import LinkableModule
from tle_raw.registry import find_target
from tle_raw.store.entries import is_intact

pytestmark = pytest.mark.one_triton

PACKAGE = Path(tle_raw.__file__).parent
BOUND = bind_names(read_signature("f", "(x: Element[f32], p: Pointer[f16]) -> Element[f32]"), {})
SHARED = (SharedVariable("odd \u00e9 name", 48, 16), SharedVariable("s", 4, 4))
NEWER = LinkableModule("; newer \u00e9\n", "f", SHARED, True, 17, ("g", "h"), GlobalEffects(True, False))
OLDER = LinkableModule("; older\n", "f", SHARED, True, 17, ("g", "h"), GlobalEffects(True, False))


@pytest.mark.parametrize(("older", "module"), [(True, OLDER), (False, NEWER)])
def test_a_module_is_read_as_it_was_written(older, module):
    written = json.loads(as_json(fitted_to_json(OLDER, NEWER, BOUND)))
    fitted = fitted_from_json(written, "f", BOUND, older)
    assert fitted is not None
    assert (fitted.file, fitted.sha256) == fitted_file(module.text)
    assert vars(fitted.module) == {**vars(module), "text": ""}


def test_another_linker_or_other_settings_take_none():
    written = json.loads(as_json(fitted_to_json(OLDER, NEWER, BOUND)))
    assert fitted_from_json({**written, "for": "0" * 32}, "f", BOUND, True) is None
    assert fitted_from_json({}, "f", BOUND, True) is None
    with knobs.scope() as settings:
        settings.like_nvcc = not settings.like_nvcc
        assert fitted_from_json(written, "f", BOUND, True) is None
    assert fitted_from_json(written, "f", BOUND, True) is not None


@pytest.mark.parametrize(
    "other", ["(x: Element[f64], p: Pointer[f16]) -> Element[f32]", "(x: Element[f32]) -> Element[f32]"]
)
def test_a_call_that_passes_other_values_takes_none(other):
    written = json.loads(as_json(fitted_to_json(OLDER, NEWER, BOUND)))
    assert fitted_from_json(written, "f", bind_names(read_signature("f", other), {}), True) is None


def test_it_is_taken_as_long_as_all_that_made_it_is_the_same(monkeypatch):
    monkeypatch.setattr(fitting, "_identity_of_makers", fitting._identity_of_makers.__wrapped__)
    written = fitted_to_json(OLDER, NEWER, BOUND)
    monkeypatch.setattr("tle_raw.identity.package_identity", lambda: "another build")
    assert fitted_from_json(written, "f", BOUND, True) is not None
    monkeypatch.setattr(fitting, "identity_of", lambda *_: "another linker")
    assert fitted_from_json(written, "f", BOUND, True) is None


CODE = """
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(3) global [16 x float] undef, align 16
@told = addrspace(4) externally_initialized global float 1.0, align 4
declare void @llvm.nvvm.barrier0()
define linkonce_odr float @twice(float %x) #1 {
  %y = fadd contract float %x, %x
  ret float %y
}
define float @f(float %x, ptr addrspace(1) %p) #0 {
  %a = call float @twice(float %x)
  %t = load float, ptr addrspace(4) @told, align 4
  store float %a, ptr addrspace(3) @table, align 4
  call void @llvm.nvvm.barrier0()
  %h = fptrunc float %t to half
  %b = bitcast half %h to i16
  %w = zext i16 %b to i32
  %s = shl nuw i32 %w, 16
  %v = or i32 %s, 1
  store i32 %v, ptr addrspace(1) %p, align 4
  ret float %a
}
attributes #0 = { mustprogress "target-cpu"="sm_90" }
attributes #1 = { noinline "target-cpu"="sm_90" }
"""
# They say how errors look, which settings and passes there are, where targets are found, and what crosses: what they
# give is in the key.
NOT_MAKERS = {"columns.py", "errors.py", "knobs.py", "near_names.py", "registry.py", "target.py", "fragments/bound.py"}
NOT_MAKERS |= {"flir/nvidia/passes.py", "flir/print_after.py"}


def is_maker(path: Path) -> bool:
    within = path.resolve().relative_to(PACKAGE.parent.resolve()).as_posix().removeprefix("tle_raw/")
    return within in NOT_MAKERS or within in MAKERS


@pytest.mark.parametrize("older", [True, False])
def test_nothing_but_the_makers_has_a_part_in_it(older):
    output, ran = CompilerOutput(CODE, "f", (), 0.0, "none", host_variables=("told",)), set()
    sys.setprofile(lambda frame, *_: ran.add(frame.f_code.co_filename))
    try:
        module = find_target("cuda").prepare(output, BOUND, inline=True, older_llvm=older)
    finally:
        sys.setprofile(None)
    assert module.kept_calls == ("twice",) and module.uses_barrier and module.static_shared
    own = {Path(file) for file in ran if file.startswith(f"{PACKAGE}/")}
    assert len(own) > 10 and [file for file in own if not is_maker(file)] == []


def test_what_the_linkers_makers_import_are_makers():
    """Constants are no functions that are called."""
    files = [PACKAGE / maker for maker in MAKERS if maker.startswith(("linker", "flir"))]
    assert len(files) > 15
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.startswith("tle_raw."):
                    assert is_maker(Path(inspect.getfile(import_module(name)))), (file, name)


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
