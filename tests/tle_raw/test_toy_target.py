"""A target is added without touching the package: by one class, in this process or by an entry point."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tle_raw
from tests.toys import postfix, toy_target
from tle_raw import Element, InOut, Tile, registry
from tle_raw.errors import AbiError, DialectError
from tle_raw.flir.pass_value import HasPasses
from tle_raw.fragments.adapter import CompilerOutput, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.target import Target
from tle_raw.targets.base import DeviceCodeWanted, JoinsStages, RunsRegions, TakesDeviceCode, TargetBackend

TOY = toy_target.ToyTarget()
registry.register_target(TOY)


class ToyPostfix(postfix.PostfixAdapter):
    """The toy dialect, for the toy target too: its code is the same."""

    name = "toy_postfix"

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        return super().compile(source, bound, Target("cuda", 90) if target.backend == "toy" else target)


registry.register_adapter(ToyPostfix())


@tle_raw.dialect("toy_postfix", source="x 2 * 1 +")
def line(x: Element["f32"]) -> Element["f32"]: ...


def test_a_fragment_is_compiled_and_linked_for_it():
    compiled = line.compile("toy")
    assert str(compiled.target) == "toy" and "fmul float" in compiled.text
    assert compiled.path != line.compile("cuda:90").path and str(line.compile("cuda:90").target) == "cuda:90"


def test_its_settings_are_part_of_the_keys(monkeypatch):
    first = line.compile("toy")
    assert line.compile("toy").cache_hit is first.cache_hit  # the same record, from memory
    monkeypatch.setattr(ToyPostfix, "compile", _another)
    assert "fmul" in line.compile("toy").text
    monkeypatch.setattr(TOY, "precision", "rough", raising=False)
    assert "fsub" in line.compile("toy").text


def _another(self: ToyPostfix, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
    changed = Source(source.dialect, source.name, source.symbol, "x 1 -", source.location)
    return postfix.PostfixAdapter.compile(self, changed, bound, Target("cuda", 90))


def test_it_needs_no_method_that_only_refuses():
    assert isinstance(TOY, TargetBackend)
    assert not isinstance(TOY, (TakesDeviceCode, JoinsStages, RunsRegions, HasPasses))


@tle_raw.dialect("cuda", source="__device__ float twice(float x) { return x + x; }")
def twice(x: Element["f32"]) -> Element["f32"]: ...


def test_device_code_is_compiled_for_it_where_it_takes_such_code():
    with pytest.raises(DialectError) as raised:
        twice.compile("toy")
    assert raised.value.message == "the cuda dialect compiles for cuda targets and for cpu, not for toy"
    registry.register_target(DeviceToy())
    assert "fadd" in twice.compile("device_toy").text


class DeviceToy(toy_target.ToyTarget):
    """Runs what a GPU of sm_80 runs."""

    name = "device_toy"

    def wanted_device_code(self, target: Target) -> DeviceCodeWanted:
        return DeviceCodeWanted("sm_80")


def test_a_tile_function_that_knows_of_no_emulation_is_refused_on_the_cpu():
    registry.register_adapter(ForGpus())

    @tle_raw.dialect("for_gpus", source="x")
    def tiled(x: InOut[Tile["f32", 128]]): ...

    assert tiled.compile("cuda:90").entry == "tiled"
    with pytest.raises(AbiError, match="`tiled` does not take what the kernel passes"):
        tiled.compile("cpu")


class ForGpus(postfix.PostfixAdapter):
    """Writes the entry that a kernel on a GPU calls, whatever it is asked for."""

    name = "for_gpus"

    def compile(self, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
        text = "define i32 @tiled(i32 %x) {\n  ret i32 0\n}\n"
        return CompilerOutput(text, "tiled", (), 0.0, postfix.IDENTITY)


def test_a_report_is_read_by_it():
    metadata = SimpleNamespace(name="kernel", target=SimpleNamespace(backend="toy"), tle_raw={"regions": []})
    report = tle_raw.report(SimpleNamespace(metadata=metadata, asm={"llir": "define void @kernel() {\n}\n"}))
    assert (report.target, report.asm_instructions, report.one_kernel) == ("toy", 2, True)


def test_an_unknown_target_is_named_with_the_known_ones():
    with pytest.raises(DialectError, match="unknown target 'tpu'") as raised:
        line.compile("tpu")
    assert "cpu, cuda, " in str(raised.value) and "toy" in str(raised.value)


def test_an_entry_point_of_another_package_adds_it(tmp_path):
    shutil.copy(toy_target.__file__, tmp_path / "toys.py")
    metadata = tmp_path / "toys-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tle_raw.targets]\ntoy = toys:ToyTarget\n")
    program = (
        "from tle_raw.registry import find_target, target_names\nprint(find_target('toy').settings(), target_names())"
    )
    paths = os.pathsep.join([str(tmp_path), str(Path(tle_raw.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.stdout.strip() == "('exact',) ['ascend', 'cpu', 'cuda', 'tenstorrent', 'toy']", done.stderr
