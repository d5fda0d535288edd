"""`pip install .`, `pip install -e .` and a built wheel give the same imports. Nothing is downloaded."""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import tle_raw

pytestmark = pytest.mark.one_triton

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ("build", "dist", ".*", "__pycache__", "*.egg-info", "*.pyc")

if importlib.util.find_spec("setuptools") is None:
    pytest.skip("setuptools is not installed: it comes with tle_raw[dev]", allow_module_level=True)


def source_files():
    """Every file of the package by the path that it must have when installed."""
    for folder, _, names in os.walk(ROOT / "tle_raw", followlinks=True):
        for name in sorted(names):
            if Path(folder).name != "__pycache__":  # bytecode, and what a checkout keeps of its sources
                yield Path(folder, name).relative_to(ROOT).as_posix()


def module_names():
    for path in source_files():
        if path.endswith(".py") and not path.endswith("__main__.py"):
            yield path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy, because a build writes into its source folder."""
    copy = tmp_path_factory.mktemp("a checkout") / "tle_raw"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*LOCAL))
    return copy


def pip(python, *arguments):
    command = [sys.executable, "-m", "pip", "--python", str(python), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, checkout)
    return next(folder.glob("tle_raw-*.whl"))


@pytest.fixture(scope="module", params=["folder", "editable", "wheel"])
def installed(request, tmp_path_factory):
    """The Python of a new environment that sees this one's packages, but not its tle_raw."""
    environment = tmp_path_factory.mktemp(request.param)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    # A plain path: the .pth files in that folder, and with them an editable tle_raw, are not read.
    outer = [p for p in sys.path if p.endswith("-packages")]
    (packages / "outer.pth").write_text("\n".join(outer))
    python = environment / "bin" / "python"
    if request.param == "wheel":
        what = [request.getfixturevalue("wheel")]
    else:
        what = [*(["-e"] if request.param == "editable" else []), request.getfixturevalue("checkout")]
    pip(python, "install", "-q", "--no-deps", "--no-build-isolation", "--force-reinstall", *what)
    return python


def run(python, program, *arguments):
    return subprocess.check_output(
        [str(python), "-c", program, *arguments], text=True, cwd=Path(python).parent, env=_no_python_path()
    )


def _no_python_path():
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def test_the_wheel_holds_every_file_of_the_package(wheel):
    packed = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    assert packed == set(source_files())


def test_a_folder_with_python_files_is_a_package():
    folders = {Path(p).parent for p in source_files() if p.endswith(".py")}
    packages = {Path(p).parent for p in source_files() if p.endswith("/__init__.py")}
    assert folders == packages


def test_the_wheel_has_licence_and_command(wheel):
    names = {n.partition(".dist-info/")[2]: n for n in zipfile.ZipFile(wheel).namelist()}
    assert "licenses/LICENSE" in names
    points = zipfile.ZipFile(wheel).read(names["entry_points.txt"]).decode()
    assert "tle-raw = tle_raw.cli:main" in points
    assert "[tle_raw.adapters]" in points


def test_every_module_is_found(installed):
    program = (
        "import importlib.util, sys\n"
        "missing = [n for n in sys.argv[1:] if importlib.util.find_spec(n) is None]\n"
        "print(missing)\n"
    )
    assert run(installed, program, *module_names()).strip() == "[]"


def test_no_other_import_name_is_taken(installed):
    program = (
        "from importlib.metadata import distribution\n"
        "print(distribution('tle_raw').read_text('top_level.txt').split())\n"
    )
    assert run(installed, program).strip() == "['tle_raw']"


def test_the_package_works_where_it_is_installed(installed):
    program = (
        "import sys, tle_raw\n"
        "from importlib.metadata import entry_points\n"
        "from pathlib import Path\n"
        "import tle_raw.adapters, tle_raw.linker, tle_raw.frontends\n"
        "assert (Path(tle_raw.__file__).parent / 'include' / 'tle_raw' / 'tile.h').is_file()\n"
        "assert 'cuda' in entry_points(group='tle_raw.adapters').names\n"
        "print(tle_raw.__file__)\n"
    )
    file = Path(run(installed, program).strip())
    assert ROOT not in file.parents, "the environment's own copy was imported"


@pytest.mark.parametrize("how", [["tle-raw"], ["python", "-m", "tle_raw"]])
def test_the_command_is_there(installed, how):
    program, *rest = how
    command = [str(installed.with_name(program)), *rest, "--version"]
    assert subprocess.check_output(command, text=True, env=_no_python_path()).strip() == "tle_raw 0.1.0"


# What pyproject.toml promises.

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_versions_agree():
    assert PROJECT["version"] == tle_raw.__version__


def test_torch_never_comes_in_by_a_dependency():
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    names = {re.match(r"[\w-]+", requirement)[0] for requirements in lists for requirement in requirements}
    assert "torch" not in names
    assert "triton" in names


# Packages written on MLIR's bindings throughout: their __init__ imports the rest inside its functions.
# Evaluates TileLang's programs on NumPy, which TileLang brings; imported where a port is checked.
ON_NUMPY = ("tle_raw/adapters/tilelang/port/reference",)
ON_MLIR = [f"tle_raw.flir.cpu.{name}" for name in ("block_matmul", "libdevice", "math_functions")]


@pytest.mark.parametrize("package", ON_MLIR)
def test_packages_on_mlir_import_without_it(package):
    program = f"import sys, {package}\nassert not any(name.startswith('torch_mlir') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_the_core_imports_only_triton_and_the_standard_library():
    """Optional packages are imported inside the functions that need them."""
    core = {*sys.stdlib_module_names, "tle_raw", "triton"}
    on_mlir = [ROOT / package.replace(".", "/") for package in ON_MLIR]
    for file in (ROOT / path for path in source_files() if path.endswith(".py")):
        allowed = core | {"torch_mlir"} if file.parent in on_mlir and file.name != "__init__.py" else core
        allowed = allowed | {"numpy"} if str(file.parent.relative_to(ROOT)) in ON_NUMPY else allowed
        for statement in ast.parse(file.read_text()).body:
            if isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom):
                assert not statement.level, f"{file}: imports are absolute"
                names = [statement.module]
            else:
                continue
            assert {n.partition(".")[0] for n in names} <= allowed, f"{file}: {names}"
