"""docs/language.md holds every function of the language, with its signature, its help and an example that runs."""

import importlib.util
import inspect
import operator
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("cffi")
pytest.importorskip("llvmlite")
pytest.importorskip("torch_mlir")

import tle_raw
import tle_raw.distributed
import tle_raw.language as tle
from tests.started import run_python

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/language.md").read_text()
SECTIONS = dict(re.findall(r"^## tle\.([\w.]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))
INTERPRETED = {"gpu_warp_specialize.py", "pipe_partitions.py"}  # in Triton's interpreter too
# Functions of kernels; what both hold is tle.gpu's.
OF_GPUS = [name for name in tle.gpu.__all__ if hasattr(getattr(tle.gpu, name), "signature")]
HOST = tle_raw.distributed.__all__  # docs/distributed.md has them
NAMES = [name for name in tle.__all__ if name not in ("dsa", "gpu", *OF_GPUS, *HOST)]
NAMES += [f"gpu.{name}" for name in OF_GPUS]
OF_DSAS = [f"dsa.{name}" for name in tle.dsa.__all__ if hasattr(getattr(tle.dsa, name), "signature")]
OF_DSAS += [
    f"dsa.ascend.{name}" for name in tle.dsa.ascend.__all__ if hasattr(getattr(tle.dsa.ascend, name), "signature")
]


def test_the_page_has_a_section_for_every_function():
    assert set(SECTIONS) == {*NAMES, "dsa"}
    assert all(f"<!-- example: {name.replace('.', '_')}.py -->" in text for name, text in SECTIONS.items())
    assert all(f"(#tle{name.replace('.', '')})" in PAGE for name in NAMES)


@pytest.mark.parametrize("name", [*NAMES, *OF_DSAS])
@pytest.mark.every_triton(12)
def test_the_page_and_help_say_the_same(name):
    function = operator.attrgetter(name)(tle)
    shown = [p for p in inspect.signature(function).parameters.values() if not p.name.startswith("_")]
    section = SECTIONS["dsa" if name in OF_DSAS else name]
    signature = ", ".join(str(p.replace(annotation=inspect.Parameter.empty)) for p in shown)
    assert f"`tle.{name}({signature})`" in section
    assert inspect.getdoc(function).splitlines()[0] in section


@pytest.mark.parametrize("name", sorted(INTERPRETED))
def test_an_example_of_turns_runs_in_the_interpreter(name, tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / name
    path.write_text(EXAMPLES[name])
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = run_python(path, environment=environment, folder=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", list(EXAMPLES))
@pytest.mark.every_triton(12)
def test_the_example_runs_on_the_cpu(name, tmp_path):
    path = tmp_path / name
    path.write_text(EXAMPLES[name])
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
