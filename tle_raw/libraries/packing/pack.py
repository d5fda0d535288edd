"""From a manifest to a Python package, put in place whole."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tle_raw
from tle_raw.errors import LibraryError
from tle_raw.knobs import knobs
from tle_raw.libraries.fitted import fitted_file
from tle_raw.libraries.packed_files import CODE, FORMAT, FUNCTIONS, INDEX, as_json
from tle_raw.libraries.packing.compile_all import compile_all
from tle_raw.libraries.packing.compile_code import Code
from tle_raw.libraries.packing.manifest import Manifest, Overload
from tle_raw.libraries.packing.packed_runtime import packed_runtime
from tle_raw.libraries.packing.stubs import module_text, project_text, stub_text
from tle_raw.libraries.signature_text import signature_text
from tle_raw.store.whole_folder import alone, others_in, put_in_place

# The oldest tle_raw that reads what this one packs.
NEEDED = "0.1.0"


@dataclass(frozen=True)
class Packed:
    """What was written: ``folder`` is ready for ``pip wheel``."""

    folder: Path
    functions: int
    codes: int


def pack(manifest: Manifest, folder: Path, told: Callable[[str], None] = lambda line: None) -> Packed:
    """Compile all that a manifest names, check it, and write the package.

    Parameters
    ----------
    folder : becomes the project: ``pyproject.toml`` and the package. What an earlier pack wrote there is replaced.
    told : takes a line for each function that is done.

    Raises
    ------
    TLEError : a function does not compile, does not fit its signature, or does more than its effects say. Then
        nothing is written.
    LibraryError : the folder holds something else.
    """
    folder = folder.absolute()
    with alone(folder):
        _check_replaceable(folder, manifest.name)
    with knobs.scope() as settings:
        settings.line_info = False  # a vendor's lines are not on its users' machines
        settings.debug = False
        compiled = compile_all(manifest, told)
    files = _files(manifest, compiled)
    put_in_place(folder, files, lambda: _check_replaceable(folder, manifest.name))
    codes = {code.file for each in compiled.values() for _, pieces in each for code in pieces}
    return Packed(folder, len(compiled), len(codes))


def _files(manifest: Manifest, compiled: dict[str, list[tuple[Overload, list[Code]]]]) -> dict[str, bytes]:
    """The whole project: path to content."""
    package: dict[str, bytes] = {"py.typed": b""}
    entries = []
    for function in manifest.functions:
        overloads = [_overload_json(overload, pieces) for overload, pieces in compiled[function.name]]
        data = as_json({"format": FORMAT, "name": function.name, "overloads": overloads})
        package[f"{FUNCTIONS}/{function.name}.json"] = data
        signatures = [each["signature"] for each in overloads]
        entries.append([function.name, function.doc, signatures, hashlib.sha256(data).hexdigest()])
        package |= {f"{CODE}/{c.file}": c.text.encode() for _, pieces in compiled[function.name] for c in pieces}
    pieces = [code for each in compiled.values() for _, codes in each for code in codes]
    package |= {fitted_file(text)[0]: text.encode() for code in pieces for text in code.fitted}
    runtime = packed_runtime() if any(code.facts["target"] == "cpu" for code in pieces) else {}
    package |= runtime
    package[INDEX] = as_json(
        {
            "format": FORMAT,
            "name": manifest.name,
            "version": manifest.version,
            "summary": manifest.summary,
            "packed_by": f"tle_raw {tle_raw.__version__}",
            "compilers": sorted({code.compiler for code in pieces}),
            "architectures": [str(target) for target in manifest.architectures],
            "setup": manifest.hooks.setup,
            "teardown": manifest.hooks.teardown,
            "variables": list(manifest.hooks.variables),
            "runtimes": {name: hashlib.sha256(data).hexdigest() for name, data in runtime.items()},
            "functions": entries,
        }
    )
    package["__init__.py"] = module_text(manifest).encode()
    package["__init__.pyi"] = stub_text(manifest).encode()
    project = {f"{manifest.name}/{path}": data for path, data in package.items()}
    return {"pyproject.toml": project_text(manifest, NEEDED).encode(), **project}


def _overload_json(overload: Overload, pieces: list[Code]) -> dict[str, Any]:
    found = [code.effects for code in pieces if code.effects is not None]
    effects = overload.effects if overload.effects is not None else frozenset().union(*found) if found else None
    return {
        "signature": signature_text(overload.signature),
        "symbol": overload.symbol,
        "effects": None if effects is None else sorted(effects),
        "block": list(overload.block),
        "code": [code.to_json() for code in pieces],
    }


def _check_replaceable(folder: Path, name: str) -> None:
    others = others_in(folder, _OWN | {name, f"{name}.egg-info"}, (folder / name / INDEX).is_file)
    if others:
        raise LibraryError(
            f"{folder} holds other things than the library {name}: {', '.join(others[:5])}",
            hint="give a folder that does not exist yet",
        )


# What pip and setuptools leave beside the package.
_OWN = {"pyproject.toml", "build", "dist", "README.md"}
