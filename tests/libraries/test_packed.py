"""A packed library: the same bytes each time, found and called without a compiler, with numbers as NumPy's."""

import filecmp
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tle_raw
from tests.libraries.conftest import NO_CLANG
from tests.libraries.guide import blocks, write_sources
from tests.libraries.keep import kept
from tests.libraries.test_host_variables import MANIFEST, SOURCE
from tle_raw.cli import main
from tle_raw.errors import LibraryError
from tle_raw.libraries.architecture import chosen_architecture, is_specific
from tle_raw.libraries.packed_files import read_index
from tle_raw.target import parse_target

USES = """
import numpy as np, triton, triton.language as tl, tle_raw
from acme_math import clip, softplus
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def kernel(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, clip(softplus(tl.load(x + at)), 0.25, 1.5))

def compiled(capability, kernel=kernel, type_="*fp32"):
    types = {"x": type_, "y": type_, "N": "constexpr"}
    return triton.compile(ASTSource(kernel, types, {"N": 128}), target=GPUTarget("cuda", capability, 32))
"""


def _files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc")


def _same(one: Path, other: Path) -> bool:
    files = _files(one)
    return files == _files(other) and not filecmp.cmpfiles(one, other, files, shallow=False)[1]


@pytest.mark.one_triton
def test_the_guide_runs_without_a_compiler(acme, program):
    told = program(blocks("python")[0] + blocks("python")[1], acme, **NO_CLANG)
    assert "acme_math 0.1.0, cpu" in told and ".target sm_90a" in told


@pytest.mark.one_triton
def test_packing_twice_gives_the_same_bytes(acme, tmp_path):
    manifest = write_sources(tmp_path)  # in another folder
    assert main(["pack", str(manifest), "-o", str(tmp_path / "again")]) == 0
    assert _same(acme, tmp_path / "again")


@pytest.mark.one_triton
def test_it_has_texts_types_and_signatures(acme, program):
    told = program(
        "import inspect, acme_math\n"
        "print(acme_math.__doc__, acme_math.__version__, acme_math.__all__)\n"
        "for f in (acme_math.softplus, acme_math.clip, acme_math.rms_rows): print(f.__doc__, inspect.signature(f))\n"
        "import pickle; assert pickle.loads(pickle.dumps(acme_math.clip)) is acme_math.clip\n",
        acme,
    )
    assert "The logarithm of 1 + exp(x). (x: 'Element[f32]') -> 'Element[f32]'" in told
    assert "x, but not below low and not above high.\n\nclip(x: Element[f32], low: Element[f32]" in told
    assert "high: Element[i32]) -> Element[i32] (x, low, high)" in told
    assert "(x: 'InOut[Tile[T, M, N]]', epsilon: 'Scalar[f32]')" in told
    stub = (acme / "acme_math" / "__init__.pyi").read_text()
    assert "def rms_rows(\n    x: tl.tensor, epsilon: tl.tensor | int | float, *, T: tl.dtype = ..., M: int" in stub
    assert stub.count("def clip(") == 1 and "@overload" not in stub and "Divides each row of x" in stub
    compile(stub, "__init__.pyi", "exec")


@pytest.mark.one_triton
def test_arguments_choose_the_overload_and_what_fits_none_is_told_with_all_of_them(acme, program):
    told = program(
        USES + "@triton.jit\ndef integers(x, y, N: tl.constexpr):\n"
        "    at = tl.arange(0, N)\n    tl.store(y + at, clip(tl.load(x + at), -3, 5))\n"
        "ptx = compiled(90, integers, '*i32').asm['ptx']; print('integers', 'min.s32' in ptx, 'min.f32' in ptx)\n"
        "compiled(90, integers, '*fp64')\n",
        acme,
        fails=True,
    )
    assert "integers True False" in told
    assert "none of the 2 overloads of `clip` takes the arguments" in told
    assert "clip(x: Element[f32]" in told and "clip(x: Element[i32]" in told
    for kind in ("f32", "i32"):
        assert f"-> Element[{kind}]: argument `x` has another dtype: `x` is Tile[f64, 128]\n" in told, told


@pytest.mark.one_triton
@pytest.mark.one_triton
def test_a_gpu_gets_its_own_code_or_an_older_ones(acme, program):
    told = program(
        USES + "for c in (80, 86, 90, 100): print(c, tle_raw.report(compiled(c)).regions[0].route)\ncompiled(75)\n",
        acme,
        fails=True,
    )
    for capability, route in ((80, 80), (86, 80), (90, 90), (100, 90)):
        assert f"{capability} acme_math 0.1.0, cuda:{route}" in told
    assert "acme_math 0.1.0 has no code of `" in told and "` for cuda:75" in told


@pytest.mark.one_triton
def test_the_fallback_is_the_newest_older_one_that_runs_there():
    packed = ["cpu", "cuda:70", "cuda:80", "cuda:90"]
    chosen = {t: chosen_architecture(parse_target(t), packed) for t in ("cpu", "cuda:75", "cuda:90", "cuda:120")}
    assert chosen == {"cpu": "cpu", "cuda:75": "cuda:70", "cuda:90": "cuda:90", "cuda:120": "cuda:90"}
    assert chosen_architecture(parse_target("cuda:100"), packed, specific=["cuda:90"]) == "cuda:80"
    assert chosen_architecture(parse_target("cuda:90"), packed, specific=["cuda:90"]) == "cuda:90"
    assert chosen_architecture(parse_target("cuda:60"), packed) is None
    assert is_specific('asm "wgmma.mma_async.sync"') and not is_specific('asm "cp.async.bulk.shared"')


@pytest.mark.parametrize("before", kept(), ids=lambda folder: folder.name)
def test_a_library_of_a_release_before_is_used_as_it_is(program, before):
    on_a_gpu = 'tle_raw.knobs.cuda.clang = "/nowhere/clang"\nprint(tle_raw.report(compiled(90)))\n'
    told = program(blocks("python")[0] + USES + on_a_gpu, before)
    assert "acme_math 1.0.0, cpu" in told and "acme_math 1.0.0, cuda:80" in told


@pytest.mark.one_triton
def test_what_vanishes_is_damaged_or_newer_is_named(acme, program, tmp_path):
    def broken(name: str) -> Path:
        return Path(shutil.copytree(acme, tmp_path / name))

    new = {f"{each}_CACHE_DIR": str(tmp_path / each) for each in ("TLE_RAW", "TRITON")}
    gone = broken("gone")
    told = program(
        USES + f"import shutil; compiled(90); shutil.rmtree({str(gone)!r}); compiled(80)\n", gone, fails=True, **new
    )
    assert "the library acme_math 0.1.0 has gone since it was imported" in told
    damaged = broken("damaged")
    for code in damaged.glob("acme_math/*/*.ll"):
        code.write_text(code.read_text() + ";\n")
    told = program(USES + "compiled(86)\n", damaged, fails=True, **new)
    assert "has another digest than the library says" in told
    newer = broken("newer")
    file = newer / "acme_math" / "library.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 9, "packed_by": "tle_raw 7.0"}))
    told = program("import acme_math\n", newer, fails=True)
    assert "was packed by tle_raw 7.0, in format 9: this tle_raw reads up to 1" in told and "pip install -U" in told
    other = f"del sys.modules['acme_math']; sys.path.insert(0, {str(kept()[-1])!r})"
    told = program(f"import sys, acme_math\n{other}\nimport acme_math\n", acme, fails=True)
    assert "two versions of the library acme_math in one process: 0.1.0 from" in told


PACKS = """
import os, sys
from pathlib import Path
from tle_raw.libraries.packed_files import read_index
from tle_raw.libraries.packing.pack import pack
from tle_raw.libraries.packing.read_manifest import manifest_of_text

folder = Path(sys.argv[0]).parent
text = (folder / "acme.toml").read_text()
pack(manifest_of_text(text, folder / "acme.toml"), folder / "before")  # what a process learns once, all have learnt
children = []
for number in range(16):
    child = os.fork()
    if child == 0:
        pack(manifest_of_text(text.replace('"1.0"', f'"1.{number}"'), folder / "acme.toml"), folder / "out")
        os._exit(0)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
index = read_index(folder / "out" / "acme_state")
for function in index.functions:
    for overload in index.read_function(function):
        for code in overload["code"]:
            index.read(f"code/{code['file']}", code["sha256"])
print(index.title)
"""


@pytest.mark.one_triton
def test_sixteen_processes_that_pack_at_once_leave_one_whole_library(program, tmp_path):
    (tmp_path / "acme.ll").write_text(SOURCE)
    (tmp_path / "acme.toml").write_text(MANIFEST)
    told = program(PACKS).splitlines()
    assert told[0] == str([0] * 16)
    assert _files(tmp_path / "out") == _files(tmp_path / "before") and not list(tmp_path.glob(".out.*"))
    assert f'version = "{told[1].split()[1]}"' in (tmp_path / "out" / "pyproject.toml").read_text()


LAUNCHES = """
import shutil, sys

@triton.jit
def late(x, y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), softplus(tl.load(x + tl.arange(0, N))))

@triton.jit
def early(x, y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), clip(tl.load(x + tl.arange(0, N)), 0.25, 1.5))

x, y, z = np.linspace(-2, 2, 128, dtype=np.float32), np.zeros(128, np.float32), np.zeros(128, np.float32)
early[(1,)](x, y, 128)
shutil.rmtree(sys.path[1])
early[(1,)](x, z, 128)
np.testing.assert_array_equal(z, np.clip(x, np.float32(0.25), np.float32(1.5)))
print("ran again", (y == z).all())
late[(1,)](x, y, 128)
"""


@pytest.mark.one_triton
def test_a_library_that_vanishes_between_launches_is_missed_by_new_kernels_only(acme, program, tmp_path):
    gone = Path(shutil.copytree(acme, tmp_path / "gone"))
    caches = {f"{each}_CACHE_DIR": str(tmp_path / each) for each in ("TLE_RAW", "TRITON")}
    told = program(USES + LAUNCHES, gone, fails=True, TLE_RAW_TARGET="cpu", **caches)
    assert "ran again True" in told and "the library acme_math 0.1.0 has gone since it was imported" in told


@pytest.mark.one_triton
def test_other_peoples_folders_are_not_replaced(acme, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(LibraryError, match=r"holds other things than the library acme_math: thesis\.txt"):
        from tle_raw.libraries.packing.pack import pack
        from tle_raw.libraries.packing.read_manifest import read_manifest

        pack(read_manifest(acme.parent / "acme.toml"), tmp_path)


@pytest.mark.one_triton
def test_effects_beyond_the_manifests_are_refused(acme, tmp_path, capsys):
    manifest = write_sources(tmp_path)
    text = manifest.read_text()
    only = text[: text.index("[[function]]")] + "[[function]]" + text.split("[[function]]")[3] + "effects = []\n"
    manifest.write_text(only.replace('"cpu", "cuda:80", ', ""))
    assert "count_bytes" in only and main(["pack", str(manifest), "-o", str(tmp_path / "out")]) == 2
    assert "`count_bytes` does more than its effects say: reads, writes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.one_triton
def test_what_is_installed_is_listed(acme, program, tmp_path):
    metadata = tmp_path / "site" / "acme_math-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme_math\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text("[tle_raw.libraries]\nacme_math = acme_math\nlost = lost_package\n")
    shutil.copytree(acme / "acme_math", tmp_path / "site" / "acme_math")
    command = "from tle_raw.cli import main\nprint(main(['libraries'])); print(main(['libraries', 'acme_math']))\n"
    told = program(command, tmp_path / "site")
    assert (
        "acme_math  0.1.0    4" in told and "cpu, cuda:80, cuda:90" in told and "lost_package cannot be found" in told
    )
    assert "rms_rows(x: InOut[Tile[T, M, N]], epsilon: Scalar[f32])" in told


@pytest.mark.one_triton
def test_a_loaded_module_is_set_up_and_torn_down(acme, program, tmp_path):
    hooked = Path(shutil.copytree(acme, tmp_path / "hooked"))
    file = hooked / "acme_math" / "library.json"
    hooks = {"setup": "acme_host:set_up", "teardown": "acme_host:tear_down"}
    file.write_text(json.dumps(json.loads(file.read_text()) | hooks))
    (hooked / "acme_host.py").write_text(
        "def set_up(module): print('set up', module is not None)\ndef tear_down(module): print('torn down')\n"
    )
    text = USES + (
        "@triton.jit\ndef plain(x, N: tl.constexpr): tl.store(x + tl.arange(0, N), 1.0)\n"
        "x = np.ones(128, np.float32)\nplain[(1,)](x, 128); print('plain done')\n"
        "kernel[(1,)](x, x, 128)\nprint('end')\n"
    )
    told = program(text, hooked, TLE_RAW_TARGET="cpu")
    assert told.split("plain done")[1].split("\n") == ["", "set up True", "end", "torn down", ""]


@pytest.mark.one_triton
def test_a_hundred_functions_are_declared_in_a_tenth_of_a_second(acme, program, tmp_path):
    many = Path(shutil.copytree(acme, tmp_path / "many"))
    file = many / "acme_math" / "library.json"
    index = json.loads(file.read_text())
    index["functions"] = [[f"f{i}", *index["functions"][0][1:]] for i in range(100)]
    file.write_text(json.dumps(index))
    lines = "".join(f"f{i} = _library.function('f{i}')\n" for i in range(100))
    module = many / "acme_math" / "__init__.py"
    module.write_text(module.read_text().split("softplus =")[0] + lines)
    told = program(
        "import time, tle_raw\nfrom tle_raw.libraries import library\nlibrary.frontend().install()\n"
        "begin = time.process_time()\nimport acme_math\nprint('took', time.process_time() - begin)\n",
        many,
    )
    assert float(told.split("took")[1]) < 0.1


@pytest.mark.one_triton
def test_the_index_says_what_was_packed(acme):
    index = read_index(acme / "acme_math")
    assert index.title == "acme_math 0.1.0" and index.packed_by == f"tle_raw {tle_raw.__version__}"
    overloads = index.read_function(index.by_name["rms_rows"])
    assert {code["key"] for code in overloads[0]["code"]} == {
        f"T={t}, M={m}, N=64" for t in ("f32", "f16") for m in (1, 4)
    }
    assert overloads[0]["effects"] == []
    assert subprocess.run([sys.executable, "-m", "compileall", "-q", str(acme)]).returncode == 0
