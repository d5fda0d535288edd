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
from tle_raw import Element, registry
from tle_raw.errors import DialectError
from tle_raw.fragments.adapter import CompilerOutput, Source
from tle_raw.fragments.bound import BoundSignature
from tle_raw.target import Target

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
    assert compiled.path != line.compile("cuda:90").path or compiled.target != line.compile("cuda:90").target


def test_its_settings_are_part_of_the_keys(monkeypatch):
    first = line.compile("toy")
    assert line.compile("toy").cache_hit is first.cache_hit  # the same record, from memory
    monkeypatch.setattr(ToyPostfix, "compile", _another)
    assert "fmul" in line.compile("toy").text
    monkeypatch.setattr(TOY, "precision", "rough", raising=False)
    assert "fsub" in line.compile("toy").text


def _another(self: ToyPostfix, source: Source, bound: BoundSignature, target: Target) -> CompilerOutput:
    changed = Source(source.dialect, source.name, source.symbol, "x 1 -", source.place)
    return postfix.PostfixAdapter.compile(self, changed, bound, Target("cuda", 90))


def test_a_report_is_read_by_it():
    metadata = SimpleNamespace(name="kernel", target=SimpleNamespace(backend="toy"), tle_raw={"regions": []})
    report = tle_raw.report(SimpleNamespace(metadata=metadata, asm={"llir": "define void @kernel() {\n}\n"}))
    assert (report.target, report.asm_instructions, report.one_kernel) == ("toy", 2, True)


def test_an_unknown_target_is_named_with_the_known_ones():
    with pytest.raises(DialectError, match="unknown target 'tpu'") as raised:
        line.compile("tpu")
    assert "cpu, cuda, toy" in str(raised.value)


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
    assert done.stdout.strip() == "('exact',) ['cpu', 'cuda', 'toy']", done.stderr
