"""Checks what the user wrote in ``dialect("cuda", …)`` and turns it into one immutable value."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tle_raw
from tle_raw.adapters.common.block_options import read_block, read_cluster, read_shared
from tle_raw.adapters.cpp.refused_flags import check_define, check_flag
from tle_raw.errors import DialectError
from tle_raw.fragments.options import absolute_path, known_options, wrong_type

NAMES = (
    "file", "source", "symbol", "include_dirs", "defines", "flags", "block", "grid", "shared", "extern_c", "whole",
    "cluster",
)  # fmt: skip
_PACKAGE = Path(tle_raw.__file__).parent / "include"
_INSTALLED = ("site-packages", "dist-packages")
AXES = tuple(f"{variable}.{axis}" for variable in ("blockIdx", "gridDim") for axis in "xyz")
ALIASES = {"extern_func_name": "symbol"}  # FlagTree's name

# nvcc's spellings that porters bring along.
_NVCC = {
    "--use_fast_math": ("-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals"),
    "-use_fast_math": ("-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals"),
    "-ftz=true": ("-fgpu-flush-denormals-to-zero",),
    "--ftz=true": ("-fgpu-flush-denormals-to-zero",),
    "--fmad=false": ("-ffp-contract=off",),
    "-fmad=false": ("-ffp-contract=off",),
    **dict.fromkeys(
        ("--expt-relaxed-constexpr", "--expt-extended-lambda", "--extended-lambda", "-lineinfo"),
        (),
    ),
}  # fmt: skip
_INCLUDE_FLAGS = ("-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-I")


@dataclass(frozen=True)
class Options:
    """``file`` or ``source`` is set. Paths are absolute, flags are clang's.

    ``grid`` and ``shared`` are for ``__global__`` functions: where a block's index comes from, such as
    ``("blockIdx.x", "row")``, and the bytes of ``extern __shared__``. ``extern_c`` puts the text into ``extern "C"``.
    ``whole`` says that the function is all of its kernel: threads that the block does not have may end.
    ``cluster`` blocks along x are launched together.
    """

    file: Path | None
    source: str | None
    symbol: str | None
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    includes: tuple[Path, ...] = ()
    block: tuple[int, ...] = ()
    grid: tuple[tuple[str, int | str], ...] = ()
    shared: int = 0
    extern_c: bool = False
    whole: bool = False
    cluster: int = 1
    ahead: tuple[str, ...] = ()  # large headers that are precompiled, wherever the code includes them
    wrapped: tuple[tuple[str, str], ...] = ()  # macros for those headers, by which a program has them in its namespace
    stand_ins: tuple[str, ...] = ()  # flags by which headers of a library that is not read are found
    lean: tuple[str, ...] = ()  # macros that leave out parts of large headers (`lean_headers`)
    declared: tuple[str, ...] = ()  # lines in front of the code, in the place of headers that are passed over

    @property
    def search_dirs(self) -> tuple[Path, ...]:
        """Every folder in which the user's includes are looked up, the flags' too."""
        return (*self.include_dirs, *self.flag_dirs)

    @property
    def flag_dirs(self) -> tuple[Path, ...]:
        """The folders that flags give."""
        folder_flags = ("-I", "-isystem", "-iquote", "-idirafter")
        return tuple(Path(value) for flag, value in itertools.pairwise(self.flags) if flag in folder_flags)

    @property
    def forced_includes(self) -> tuple[Path, ...]:
        """Files that are read before the user's code: those of ``-include`` and ``-imacros`` flags."""
        macros = [Path(v) for f, v in itertools.pairwise(self.flags) if f == "-imacros"]
        return (*macros, *self.includes)

    def settings(self) -> tuple[tuple[str, str], ...]:
        """Everything but the text that can change the code, as sorted pairs of text."""
        values = {
            "file": str(self.file or ""),
            "symbol": self.symbol or "",
            "include_dirs": json.dumps([_portable(path) for path in self.include_dirs]),
            "defines": json.dumps(self.defines),
            "flags": json.dumps(self.flags),
            "includes": json.dumps([_portable(path) for path in self.includes]),
            "block": json.dumps(self.block),
            "grid": json.dumps(self.grid),
            "shared": str(self.shared),
            "extern_c": str(self.extern_c),
            **({"whole": "True"} if self.whole else {}),
            **({"cluster": str(self.cluster)} if self.cluster > 1 else {}),
        }
        return tuple(sorted(values.items()))


def _portable(path: Path) -> str:
    """An installed package's folder by its own name: what is read through it is known by its content."""
    roots = [_PACKAGE, *(Path(entry) for entry in sys.path if Path(entry).name in _INSTALLED)]
    found = next((root for root in roots if path.is_relative_to(root)), None)
    return f"<{path.relative_to(found)}>" if found else str(path)


def read_options(options: Mapping[str, Any], folder: Path) -> Options:
    """Validate the options of a declaration.

    Raises
    ------
    DialectError : an option is unknown, has a value of the wrong type, or breaks the adapter.
    """
    given = known_options("cuda", options, NAMES, ALIASES)
    if ("file" in given) == ("source" in given):
        both = "both" if "file" in given else "neither"
        raise DialectError(f"the cuda dialect takes file= or source=, got {both}", hint='write file="scale.cu"')
    for name in ("source", "symbol"):
        if not isinstance(given.get(name, ""), str):
            raise wrong_type(name, "text", given[name])
    flags, flag_defines, includes = _flags(_items("flags", given.get("flags", ())), folder)
    defines = (*_defines(given.get("defines", ())), *flag_defines)
    for define in defines:
        check_define(define)
    return Options(
        absolute_path("file", given["file"], folder) if "file" in given else None,
        given.get("source"),
        given.get("symbol", "").strip() or None,
        tuple(
            absolute_path("include_dirs", item, folder)
            for item in _items("include_dirs", given.get("include_dirs", ()))
        ),
        defines,
        flags,
        includes,
        read_block(given.get("block", ())),
        _grid(given.get("grid", {})),
        read_shared(given.get("shared", 0)),
        bool(given.get("extern_c", False)),
        bool(given.get("whole", False)),
        read_cluster(given.get("cluster", 1)),
    )


def _items(name: str, value: object) -> Iterable[Any]:
    if isinstance(value, (str, os.PathLike)):
        return (value,)
    if not isinstance(value, (list, tuple)):
        raise wrong_type(name, "a list", value)
    return value


def _defines(value: object) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        pairs = value.items()
        return tuple(str(k) if v is None or v is True else f"{k}={int(v) if v is False else v}" for k, v in pairs)
    defines = tuple(_items("defines", value))
    for define in defines:
        if not isinstance(define, str):
            raise wrong_type("defines", 'a dict, or a list of texts such as "K=4"', value)
    return defines


def _grid(value: object) -> tuple[tuple[str, int | str], ...]:
    """``{"x": "row"}`` is ``{"blockIdx.x": "row"}``; a number is an axis of the launch, a name a parameter."""
    if not isinstance(value, Mapping):
        raise wrong_type("grid", 'a dictionary such as {"blockIdx.x": "row", "blockIdx.y": 0}', value)
    found: dict[str, int | str] = {}
    for key, place in value.items():
        axis = f"blockIdx.{key}" if key in ("x", "y", "z") else key
        if axis not in AXES:
            raise wrong_type("grid", f"names of {', '.join(AXES)}", key)
        if not (isinstance(place, str) and place.isidentifier()) and not (type(place) is int and 0 <= place <= 2):
            raise wrong_type("grid", "a program id's axis (0, 1, 2) or the name of a parameter", place)
        found[axis] = place
    return tuple(sorted(found.items()))


def _flags(flags: Iterable[Any], folder: Path) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Path, ...]]:
    """(flags, defines, forced includes): what breaks the adapter is refused, nvcc's spellings are translated."""
    found: list[str] = []
    defines: list[str] = []
    includes: list[Path] = []
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        if not isinstance(flag, str) or not flag.strip():
            raise wrong_type("flags", "a list of texts", flag)
        check_flag(flag)
        option = next((o for o in _INCLUDE_FLAGS if flag.startswith(o) and not flag.startswith("-include-pch")), None)
        if option:
            value = flag[len(option) :] or (rest.pop(0) if rest else "")
            if not isinstance(value, str) or not value:
                raise DialectError(f"the flag {flag!r} lacks its path")
            path = absolute_path("flags", value, folder)
            if option == "-include":
                includes.append(path)
            else:
                found += [option, str(path)]
        elif flag.startswith("-D"):
            defines.append(flag[2:] or str(rest.pop(0) if rest else ""))
        else:
            found += _NVCC.get(flag, (flag,))
    return tuple(found), tuple(defines), tuple(includes)
