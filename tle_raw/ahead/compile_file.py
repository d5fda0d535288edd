"""Compiles a file's kernels into a folder: their code, and a package with the fragments that they need."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import triton

import tle_raw
from tle_raw.ahead.variants import Variant, variants_of
from tle_raw.errors import LibraryError
from tle_raw.knobs import knobs
from tle_raw.store import FRAGMENTS
from tle_raw.store.shipped import FOLDER, GROUP
from tle_raw.store.whole_folder import alone, others_in, put_in_place
from tle_raw.target import Target

WRITTEN_BY = "# Written by `tle-raw compile`."
TEXTS = ("ptx", "asm", "cubin", "obj")


@dataclass(frozen=True)
class CompiledFile:
    """What was written: the project's folder, the kernels, and the number of fragments in its package."""

    folder: Path
    kernels: tuple[str, ...]
    fragments: int


def compile_file(
    module: ModuleType,
    name: str,
    targets: Sequence[Target],
    folder: Path,
    told: Callable[[str], None] = lambda line: None,
) -> CompiledFile:
    """Compile each variant for each target.

    Parameters
    ----------
    name : of the package; the project's folder holds ``<name>/fragments``, and ``kernels`` beside it.
    folder : must not exist, or be what an earlier call wrote.

    Raises
    ------
    DialectError : the module does not say what to compile. LibraryError : the folder holds something else.
    """
    variants = list(variants_of(module))
    folder = folder.absolute()
    with alone(folder):
        _check_replaceable(folder, name)
    with tempfile.TemporaryDirectory() as scratch, knobs.scope() as settings, triton.knobs.cache.scope():
        settings.cache.dir = Path(scratch) / "fragments"
        triton.knobs.cache.dir = str(Path(scratch) / "triton")
        project = Path(scratch) / "project"
        kernels = [_kernel(variant, target, project, told) for variant in variants for target in targets]
        (project / name / FOLDER).mkdir(parents=True)
        made = Path(scratch) / "fragments" / FRAGMENTS
        entries = sorted(made.glob("*-any.*")) if made.is_dir() else []
        for file in entries:
            if file.suffix in (".ll", ".json"):
                shutil.copyfile(file, project / name / FOLDER / file.name)
        (project / name / "__init__.py").write_text(f'"""Fragments of {module.__name__}, compiled."""\n')
        (project / "pyproject.toml").write_text(_project_text(name))
        files = {str(f.relative_to(project)): f.read_bytes() for f in project.rglob("*") if f.is_file()}
        put_in_place(folder, files, lambda: _check_replaceable(folder, name))
    return CompiledFile(folder, tuple(kernels), sum(file.suffix == ".ll" for file in entries))


def _kernel(variant: Variant, target: Target, project: Path, told: Callable[[str], None]) -> str:
    compiled: Any = variant.compile(target)
    name = f"{variant.name}-{str(target).replace(':', '')}-{compiled.hash[:12]}"
    (project / "kernels").mkdir(parents=True, exist_ok=True)
    for kind in TEXTS:
        code = compiled.asm.get(kind)
        if code is not None:
            data = code if isinstance(code, bytes) else code.encode()
            (project / "kernels" / f"{name}.{kind}").write_bytes(data)
    described = {
        "kernel": variant.name,
        "entry": compiled.metadata.name,
        "target": str(target),
        "types": dict(variant.types),
        "constants": {key: repr(value) for key, value in variant.constants.items()},
        "num_warps": compiled.metadata.num_warps,
        "shared": compiled.metadata.shared,
        "tle_raw": tle_raw.__version__,
        "triton": triton.__version__,
    }
    (project / "kernels" / f"{name}.json").write_text(json.dumps(described, indent=1) + "\n")
    told(f"{variant.name} for {target}: kernels/{name}")
    return name


def _check_replaceable(folder: Path, name: str) -> None:
    project = folder / "pyproject.toml"
    # What pip and setuptools leave beside the package is theirs to make again.
    own = {"pyproject.toml", "kernels", "build", "dist", name, f"{name}.egg-info"}
    others = others_in(
        folder, own, lambda: project.is_file() and project.read_text(errors="replace").startswith(WRITTEN_BY)
    )
    if others:
        raise LibraryError(
            f"{folder} holds other things: {', '.join(others[:5])}", hint="give a folder that does not exist yet"
        )


def _project_text(name: str) -> str:
    return (
        f"{WRITTEN_BY}\n"
        '[build-system]\nrequires = ["setuptools>=77"]\nbuild-backend = "setuptools.build_meta"\n\n'
        f'[project]\nname = "{name}"\nversion = "{tle_raw.__version__}"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["tle_raw=={tle_raw.__version__}"]\n\n'
        f'[project.entry-points."{GROUP}"]\n{name} = "{name}"\n\n'
        f'[tool.setuptools]\npackages = ["{name}"]\n\n'
        f'[tool.setuptools.package-data]\n{name} = ["{FOLDER}/*"]\n'
    )
