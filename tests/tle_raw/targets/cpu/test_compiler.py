"""The CPU's backend inside Triton's compiler: targets, options, stages, keys, tuning."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget, Language
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

pytest.importorskip("cffi")
pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw
from tle_raw.errors import LaunchError
from tle_raw.host.cpu import host_cpu
from tle_raw.regions.stages import check_stages, compiled_target, end_compilation, install
from tle_raw.targets.cpu.compiler import CpuBackend
from tle_raw.targets.cpu.options import read_options
from tle_raw.targets.cpu.utilities import CpuUtilities

TARGET = GPUTarget("cpu", 0, 32)


@triton.jit
def add_one(target, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + i, tl.load(target + i, i < n) + 1, i < n)


def compiled(target=TARGET, **options):
    source = ASTSource(add_one, {"target": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 16})
    return triton.compile(source, target=target, options=options)


@pytest.fixture(autouse=True)
def settings():
    with tle_raw.knobs.scope():
        yield


def test_a_compiled_kernel_holds_every_stage():
    kernel = compiled()
    assert {"ttir", "linalg", "llvmir", "asm", "obj"} <= set(kernel.asm)
    assert "tle_launch" in kernel.asm["linalg"] and "tle_launch" in kernel.asm["llvmir"]
    assert "tle_launch:" in kernel.asm["asm"] and kernel.asm["obj"].startswith(b"\x7fELF")
    assert kernel.metadata.name == "add_one"


def test_a_kernel_compiled_ahead_of_time_is_launched():
    array = np.zeros(20, np.float32)
    compiled()[(2, 1, 1)](array, 20, 16)
    assert (array == 1).all()


def test_a_kernel_from_the_cache_on_disk_is_the_same():
    assert compiled().asm["obj"] == compiled().asm["obj"]


@pytest.mark.parametrize("arch", [0, "", host_cpu().name])
def test_the_target_is_this_machines_cpu(arch):
    assert isinstance(make_backend(GPUTarget("cpu", arch, 32)), CpuBackend)
    assert compiled(GPUTarget("cpu", arch, 32)).asm["asm"]


def test_another_cpu_is_refused():
    with pytest.raises(LaunchError, match="this machine only"):
        compiled(GPUTarget("cpu", "pentium", 32))


def test_targets_of_others_are_left_to_them():
    assert not CpuBackend.supports_target(GPUTarget("cuda", 90, 32))
    assert not CpuBackend.supports_target(GPUTarget("cpu", 0, 0))  # a fork's


@pytest.mark.parametrize(
    ("option", "value"), [("num_warps", 3), ("num_warps", 0), ("num_ctas", 2), ("instrumentation_mode", "consan")]
)
def test_an_option_that_a_cpu_cannot_have_is_named(option, value):
    with pytest.raises(LaunchError, match=option):
        compiled(**{option: value})


def test_a_library_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(LaunchError, match=r"missing\.ll"):
        compiled(extern_libs={"missing": str(tmp_path / "missing.ll")})


def test_options_of_gpus_are_taken():
    options = {"num_stages": 4, "maxnreg": 128, "launch_pdl": True, "launch_cooperative_grid": True}
    assert compiled(**options).metadata.num_stages == 4


def test_every_option_is_in_the_key(tmp_path):
    library = tmp_path / "library.ll"
    library.write_text("; one")

    def key(**options):
        return read_options(options, "host").hash()

    keys = [key(), key(num_warps=8), key(debug=True), key(enable_fp_fusion=False), key(extern_libs={"a": str(library)})]
    tle_raw.knobs.debug = True
    keys.append(key())
    library.write_text("; two")
    keys.append(key(extern_libs={"a": str(library)}))
    assert len(set(keys)) == len(keys)


def test_the_backends_key_says_the_tools():
    assert CpuBackend(TARGET).hash() == CpuBackend(TARGET).hash()
    assert CpuBackend(TARGET).hash() != CpuBackend(GPUTarget("cpu", "other", 32)).hash()


def test_the_debug_knob_compiles_again_in_the_same_process():
    array = np.zeros(16, np.float32)
    plain = add_one[(1,)](array, 16, 16)
    tle_raw.knobs.debug = True
    checked = add_one.warmup(array, 16, 16, grid=(1,))
    assert not plain.metadata.debug_checks and checked.metadata.debug_checks
    tle_raw.knobs.debug = False
    assert add_one[(1,)](array, 16, 16) is plain


def test_a_text_of_ours_can_be_put_in_a_stages_place(tmp_path):
    doubled = tmp_path / "twice.llvmir"
    doubled.write_text(compiled().asm["llvmir"].replace("float 1.000000e+00", "float 2.000000e+00"))
    kernel = compiled(ir_override=str(doubled))
    array = np.zeros(16, np.float32)
    kernel[(1, 1, 1)](array, 16, 16)
    assert (array == 2).all()


def test_the_inspection_hook_sees_the_stages():
    seen = []

    def hook(self=None, stages=None, options=None, language=None, capability=None):
        if self is None:
            return "", ""
        seen.append((type(self), list(stages), capability))
        return None

    with triton.knobs.runtime.scope(), triton.knobs.compilation.scope():
        triton.knobs.compilation.always_compile = True
        triton.knobs.runtime.add_stages_inspection_hook = hook
        compiled()
    assert seen == [(CpuBackend, ["ttir", "linalg", "llvmir", "asm", "obj"], None)]


def test_regions_know_that_they_are_compiled_for_the_cpu():
    install()  # as the first fragment does
    backend = CpuBackend(TARGET)
    options = backend.parse_options({})
    backend.add_stages({}, options, Language.TRITON)
    assert compiled_target() == "cpu"
    assert check_stages(options)
    assert not check_stages(backend.parse_options({}))
    end_compilation()
    assert compiled_target() == ""


def test_gluon_kernels_are_refused():
    with pytest.raises(LaunchError, match="Gluon"):
        CpuBackend(TARGET).add_stages({}, CpuBackend(TARGET).parse_options({}), Language.GLUON)


def test_a_kernel_is_tuned():
    configs = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64}, num_warps=8)]
    tuned = triton.autotune(configs, key=["n"])(add_one)
    array = np.zeros(64, np.float32)
    tuned[lambda meta: (triton.cdiv(64, meta["BLOCK"]),)](array, 64)
    assert tuned.best_config in configs and array.all()


def test_a_launch_is_timed_in_milliseconds():
    array = np.zeros(16, np.float32)
    assert 0 < triton.testing.do_bench(lambda: add_one[(1,)](array, 16, 16), warmup=1, rep=2) < 1000


@pytest.mark.parametrize("to", [tl.float16, tl.float32])
def test_fp8e4b15_is_converted_both_ways(to):
    @triton.jit
    def convert(source, target, TO: tl.constexpr):
        i = tl.arange(0, 256)
        wide = tl.load(source + i).to(tl.float8e4b15, bitcast=True).to(TO)
        tl.store(target + i, wide.to(tl.float8e4b15).to(tl.uint8, bitcast=True))

    source, target = np.arange(256, dtype=np.uint8), np.zeros(256, np.uint8)
    convert[(1,)](source, target, to)
    saturated = np.where(source & 0x7F == 0x7F, source & 0x80 | 0x7E, source)  # 1.75 is the largest, as on GPUs
    assert (target == saturated).all()


def test_a_kernel_of_another_device_goes_as_its_driver_says_or_without_one():
    """Triton unloads a kernel by the driver that is active when it goes."""
    gone = []
    before = SimpleNamespace(utils=SimpleNamespace(unload_module=gone.append))
    CpuUtilities(before).unload_module(7)
    CpuUtilities().unload_module(8)
    assert gone == [7]


def test_a_kernel_goes_as_python_ends(monkeypatch):
    """By then nothing can be imported, and the kernel is neither left nor given to another driver."""
    kernel = compiled()
    kernel._init_handles()
    gone = []
    before = SimpleNamespace(utils=SimpleNamespace(unload_module=gone.append))
    monkeypatch.setattr(sys, "meta_path", None)
    for name in [name for name in sys.modules if name.startswith("tle_raw.host")]:
        monkeypatch.delitem(sys.modules, name)
    CpuUtilities(before).unload_module(kernel.module)
    assert gone == []
