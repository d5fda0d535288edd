"""Copies at the border of a PrimFunc as block tensors of the Triton kernel: what stands before and after is fused."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tle_raw
from tle_raw.adapters.common.compile_ahead import triton_types
from tle_raw.adapters.tilelang.named_tiles import NamedTile, find_named_tiles
from tle_raw.adapters.tilelang.port.names import spelled_names
from tle_raw.adapters.tilelang.port.python_text import broken, expression
from tle_raw.adapters.tilelang.program import Program
from tle_raw.adapters.tilelang.regions import strides_of
from tle_raw.errors import TLEError
from tle_raw.fragments.parameter_types import IN, OUT
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.target import Target

_AXES = {"blockIdx.x": 0, "blockIdx.y": 1, "blockIdx.z": 2}


@dataclass(frozen=True)
class Fused:
    """``lines`` are the Triton kernel's; ``tiles`` the buffers that are block tensors in it."""

    tiles: tuple[str, ...]
    lines: tuple[str, ...]


def fuse(kernel: str, source: Any, options: Mapping[str, Any], plain: Any, num_warps: int, target: Target) -> Any:
    """A kernel with every tile that the PrimFunc copies once, or None where there is no such copy.

    ``plain`` is the fragment without tiles. What is written compiles for ``target``.
    """
    program: Program = plain.as_kernel().program
    texts: dict[str, list[str]] = {}
    found: dict[str, NamedTile] = {}
    names = spelled_names([p.name for p in plain.signature.parameters], kernel)
    for name in program.buffers:
        try:
            tile = find_named_tiles(program, [name])[name]
        except TLEError:
            continue
        lines = _place(program, tile, names)
        if lines is not None and (tile.effect == IN or (tile.effect == OUT and tile.is_written_whole)):
            texts[name], found[name] = lines, tile
    for tiles in (list(found), [n for n in found if found[n].effect == OUT]):
        if not tiles:
            continue
        try:
            region = tle_raw.fragment(source, **options, tiles=tiles)
            lines = _lines(kernel, region, {n: found[n] for n in tiles}, texts, names, list(names.values()))
            _compile(kernel, lines, region, plain, num_warps, target)
        except Exception:  # then it stays the plain one
            continue
        return Fused(tuple(tiles), tuple(lines))
    return None


def _place(program: Program, tile: NamedTile, names: Mapping[str, str]) -> list[str] | None:
    """Lines that make the addresses and the mask of a tile; None where no text says where it is."""
    word = names[tile.name]
    known = {**program.scalars, **program.dims}

    def name_of(variable: Any) -> str | None:
        axis = next((a for a in program.grid if a.variable.same_as(variable)), None)
        if axis is not None:
            return f"tl.program_id({_AXES[axis.tag]})"
        return next((names[n] for n, v in known.items() if v.same_as(variable)), None)

    origins = [expression(o, name_of) for o in tile.origin]
    sizes = [expression(e, name_of) for e in tile.buffer.shape]
    strides = [expression(s, name_of) for s in strides_of(tile.buffer)]
    if None in (*origins, *sizes, *strides) or any("min(" in str(o) or "max(" in str(o) for o in origins):
        return None
    lines, places, held = [], [], []
    for dim, (origin, size, stride) in enumerate(zip(origins, sizes, strides)):
        if dim not in tile.kept:
            places.append(_times(f"({origin})" if " " in str(origin) else str(origin), str(stride)))
            held.append(f"{origin} < {size}")
            continue
        number = tile.kept.index(dim)
        at, extent = f"{word}_{dim}", tile.dims[number]
        first = "" if origin == "0" else f"{origin} + "
        lines.append(f"{at} = {first}tl.arange(0, {extent})")
        inner = ["None"] * len(tile.kept)
        inner[number] = ":"
        seen = f"{at}[{', '.join(inner)}]" if len(tile.kept) > 1 else at
        places.append(_times(seen, str(stride)))
        held.append(f"{seen} < {size}")
        if tile.extents[dim] != extent:
            held.append(f"{seen} < {first}{tile.extents[dim]}")
    lines.append(f"{word}_at = {' + '.join(places)}")
    held = list(dict.fromkeys(held))
    lines.append(f"{word}_mask = {held[0] if len(held) == 1 else ' & '.join(f'({each})' for each in held)}")
    return lines


def _times(place: str, stride: str) -> str:
    return place if stride == "1" else f"{place} * {f'({stride})' if ' ' in stride else stride}"


def _lines(
    kernel: str, region: Any, tiles: Mapping[str, NamedTile], texts: Mapping[str, list[str]], names: Mapping[str, str],
    parameters: list[str],
) -> list[str]:  # fmt: skip
    given, made, body = [], [], []
    for parameter in region.signature.parameters:
        word, tile = names[parameter.name], tiles.get(parameter.name)
        if tile is None:
            given.append(word)
            continue
        body += texts[parameter.name]
        if tile.effect == OUT:
            made.append(word)
            continue
        body.append(f"{word}_tile = tl.load({word} + {word}_at, {word}_mask, 0)")
        given.append(f"{word}_tile")
    results = ", ".join(f"{word}_tile" for word in made)
    inside = [f"    {line}" for line in body]
    inside.append("    # Triton code before the region stands here.")
    inside += broken(f"{results} = {kernel}_region(" if made else f"{kernel}_region(", given, ")", 4)
    inside.append(
        "    # Triton code after it stands here, on the blocks that the region gives, before they are stored."
    )
    inside += [f"    tl.store({word} + {word}_at, {word}_tile, {word}_mask)" for word in made]
    return ["@triton.jit", *broken(f"def {kernel}_kernel(", parameters, "):"), *inside]


def _compile(kernel: str, lines: list[str], region: Any, plain: Any, num_warps: int, target: Target) -> None:
    """Triton reads a kernel's source from its file."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    name = f"tle_raw_fused_{kernel}"
    with temporary_folder("tle-raw-fuse-") as folder:
        file = Path(folder, f"{name}.py")
        file.write_text("\n".join(["import triton", "import triton.language as tl", "", *lines, ""]), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        setattr(module, f"{kernel}_region", region)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            words = spelled_names([p.name for p in plain.signature.parameters], kernel)
            types = {words[n]: t for n, t in triton_types(plain.signature).items()}
            triton.compile(
                ASTSource(getattr(module, f"{kernel}_kernel"), types),
                target=GPUTarget("cuda", target.capability, 32),
                options={"num_warps": num_warps},
            )
        finally:
            del sys.modules[name]
