"""The archive of both machine codes: an index in JSON, and cubins."""

from __future__ import annotations

import difflib
import json
import re
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from cuda_sweep.kernels import Listed
from cuda_sweep.launches import Launch

_ENTRY = re.compile(rb"\.nv\.constant0\.([\w$]+)\0")  # kernels alone have a section of parameters, static ones too


def write_pack(path: Path, entries: list[dict[str, Any]], images: dict[str, bytes]) -> None:
    import io

    with tarfile.open(path, "w:xz", preset=9) as file:
        for name, data in {"index.json": json.dumps(entries).encode(), **images}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))


@cache
def _contents(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as file:
        return {member.name: file.extractfile(member).read() for member in file}  # type: ignore[union-attr]


def read_index(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(_contents(path)["index.json"]))


def read_image(path: Path, name: str) -> bytes:
    return _contents(path)[name]


def entry_of(
    folder: Path, version: str, index: int, kernel: Listed, launch: Launch
) -> tuple[dict[str, Any], dict[str, bytes]] | str:
    """What the index says of a kernel, and both cubins; or why there is nothing to say."""
    facts, theirs = folder / f"facts-{version}.json", folder / "nvcc.cubin"
    if not facts.is_file():
        return "not compiled"
    known = json.loads(facts.read_text())
    if "error" in known:
        return str(known["error"]).splitlines()[0][:150]
    if not theirs.is_file():
        return "nvcc has not compiled it"
    if tuple(known["block"]) != launch.block(kernel.block) or known["shared"] != launch.shared_bytes:
        return "compiled for another launch"
    short = kernel.name.partition("(")[0]
    names = sorted({name.decode() for name in _ENTRY.findall(theirs.read_bytes()) if short in name.decode()})
    if len(names) > 1:
        names = _alike(names, kernel.symbol)
    if len(names) != 1:
        return f"nvcc has {len(names)} kernels of that name"
    images = {f"{index}.ours": (folder / f"ours-{version}.cubin").read_bytes(), f"{index}.nvcc": theirs.read_bytes()}
    entry = {
        "index": index,
        "package": kernel.package,
        "symbol": kernel.symbol,
        "name": short,
        "block": known["block"],
        "params": known["params"],
        "ours": {"image": f"{index}.ours", **known["ours"]},
        "nvcc": {"image": f"{index}.nvcc", "name": names[0]},
    }
    return entry, images


def _alike(names: list[str], symbol: str) -> list[str]:
    """Those that are spelled as the symbol is; enumerators and aliases are not: else the one that is most like it."""
    from tle_raw.linker.machine_code.demangle import demangle

    shown = {name: _plain(demangle(name)) for name in names}
    exact = [name for name in names if _plain(symbol) in shown[name]]
    return exact or [max(names, key=lambda name: difflib.SequenceMatcher(None, _plain(symbol), shown[name]).ratio())]


def _plain(symbol: str) -> str:
    """Without what demanglers write in other places."""
    return re.sub(r"\bconst\b|\bvoid\b|\s", "", symbol)
