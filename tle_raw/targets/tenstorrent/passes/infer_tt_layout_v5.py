"""Stage A, first: how tiles hold each buffer and each tensor.

A vector is the first column of its tiles or the first row: what reductions leave behind and what products, sums and
copies of it ask for decides; where nothing does it is a row. Of a tensor two dims at most are cut into tiles, those
that blocks of it have. Leaves ``tt.buffer.<name>``: memory, layout, tile_shape, dtype, nd_shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tle_raw.errors import Row, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.blocks import TILE, Choose, Each, Local, ReadBlock, Reduce, Repeat, Turn, parts
from tle_raw.targets.tenstorrent.integers import bounds, divided
from tle_raw.targets.tenstorrent.ir import Module, Tensor, walk
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.tile_program import Number

_OTHER = {"row": "column", "column": "row"}


def infer_tt_layout_v5(module: Module, options: Options) -> Module:
    """The module with a form for each vector, and with its tensors cut into tiles."""
    unknown = [name for name in options.layouts if name not in module.tensors]
    if unknown:
        raise UnsupportedFeatureError(
            f"layouts= names `{unknown[0]}`, which is no array of the kernel",
            table=[Row("layouts=", f"of {', '.join(module.tensors)}", unknown[0])],
        )
    module = replace(module, locals=_Forms(module).solved())
    ranges = _ranges(module)
    for tensor in module.tensors.values():
        _check_in_place(module, tensor)
    tensors = {name: _tiled(module, tensor, ranges) for name, tensor in module.tensors.items()}
    attributes = dict(module.attributes)
    for name, tensor in tensors.items():
        layout = dict(options.layouts.get(name, {}))
        tensors[name] = tensor = replace(
            tensor,
            memory=layout.get("memory", "DRAM"),
            layout=layout.get("layout", "sharded" if "shard" in layout else "interleaved"),
            shard=tuple(layout["shard"]) if "shard" in layout else None,
        )
        attributes[f"tt.buffer.{name}"] = {
            "memory": tensor.memory,
            "layout": tensor.layout,
            "tile_shape": [TILE, TILE],
            "dtype": layout.get("format", tensor.dtype),
            "nd_shard": list(tensor.shard) if tensor.shard else None,
        }
    return replace(module, tensors=tensors, attributes=attributes)


def _check_in_place(module: Module, tensor: Tensor) -> None:
    """The reader runs ahead of the writer: an array may be both read and written where each block has its own part."""
    if tensor.direction != "inout":
        return
    uses = [s for s in walk(module.body) if getattr(s, "tensor", None) == tensor.name]
    boxes = {(s.origin, s.dims) for s in uses}
    reads = [s for s in uses if isinstance(s, ReadBlock)]
    if len(boxes) > 1 or len(reads) > 1 or len(uses) - len(reads) > 1:
        raise UnsupportedFeatureError(
            f"`{tensor.name}` is read and written, and not just once in the same place",
            hint="write into an array of its own: a reader runs ahead of the writer",
        ).at(source=uses[-1].location)


class _Forms:
    """Vectors that must have the same form are in one group; a group's form is asked for by some of its members."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.parents: dict[str, tuple[str, bool]] = {}
        self.asked: dict[str, tuple[str, str]] = {}  # of a group: its form, and who asked for it

    def _find(self, name: str) -> tuple[str, bool]:
        turned = False
        while name in self.parents:
            name, other = self.parents[name]
            turned ^= other
        return name, turned

    def _is_vector(self, name: str) -> bool:
        return name.startswith("@") or len(self.module.locals[name].shape) == 1

    def join(self, a: str, b: str, location: Any, *, turned: bool = False) -> None:
        """Two vectors of the same form, or of opposite ones."""
        (a, a_turned), (b, b_turned) = self._find(a), self._find(b)
        turned ^= a_turned ^ b_turned
        if a == b:
            return
        self.parents[a] = (b, turned)
        if a in self.asked:
            form, who = self.asked.pop(a)
            self.ask(b, _OTHER[form] if turned else form, location, who)

    def ask(self, name: str, form: str, location: Any, who: str = "") -> None:
        """A vector needs a form.

        Raises
        ------
        UnsupportedFeatureError : it has the other one already.
        """
        group, turned = self._find(name)
        form = _OTHER[form] if turned else form
        known, _ = self.asked.setdefault(group, (form, who or name))
        if known != form:
            raise UnsupportedFeatureError(
                f"the vector `{name.lstrip('@')}` is needed as a row of tiles and as a column of tiles",
                table=[Row("form", known if not turned else _OTHER[known], form if not turned else _OTHER[form])],
                hint="copy it into two buffers, one for each use",
            ).at(source=location)

    def solved(self) -> dict[str, Local]:
        for local in self.module.locals.values():
            if local.form and len(local.shape) == 1:
                self.ask(local.name, local.form, None)
        for statement in walk(self.module.body):
            self._one(statement)
        made = {}
        for name, local in self.module.locals.items():
            if len(local.shape) == 1:
                group, turned = self._find(name)
                form = self.asked.get(group, ("row", ""))[0]
                local = replace(local, form=_OTHER[form] if turned else form)
            made[name] = local
        return made

    def _one(self, statement: Any) -> None:
        location = getattr(statement, "location", None)
        locals_ = self.module.locals
        if isinstance(statement, (Each, Choose)):
            target = locals_[statement.target]
            for part in parts(statement.value) if isinstance(statement, Each) else ():
                if len(locals_[part.local].shape) != 1:
                    continue
                if len(target.shape) == 2:
                    self.ask(part.local, "column" if part.axes == (0,) else "row", location)
                elif len(target.shape) == 1:
                    self.join(part.local, target.name, location)
        elif isinstance(statement, Reduce) and statement.axis is not None:
            self.ask(statement.target, "column" if statement.axis == 1 else "row", location)
        elif isinstance(statement, Turn) and self._is_vector(statement.target):
            self.join(statement.target, statement.source, location, turned=True)
        elif hasattr(statement, "tensor") and len(statement.dims) == 1:
            local = getattr(statement, "target", None) or statement.source
            self.join(local, f"@{statement.tensor}", location)


def _ranges(module: Module) -> dict[str, tuple[int, int]]:
    """The least and greatest value of each block index and each loop's variable."""
    ranges = {name: (0, extent - 1) for name, extent in zip(module.attributes["block_indices"], module.grid)}
    for statement in walk(module.body):
        if isinstance(statement, Repeat):
            low, high = bounds(statement.start, ranges)[0], bounds(statement.stop, ranges)[1]
            ranges[statement.name] = (low, max(low, high - 1))
    return ranges


def _tiled(module: Module, tensor: Tensor, ranges: Mapping[str, tuple[int, int]]) -> Tensor:
    """Which dims are cut into tiles, and how many tiles blocks reach."""
    found: tuple[int | None, int | None] | None = None
    reach = [0, 0]
    for statement in walk(module.body):
        if getattr(statement, "tensor", None) != tensor.name:
            continue
        local = module.locals[getattr(statement, "target", None) or statement.source]
        dims = _tile_dims(local, statement.dims)
        if found is not None and dims != found:
            raise UnsupportedFeatureError(
                f"`{tensor.name}` is cut into tiles in two ways",
                table=[Row("dims of rows and columns", str(found), str(dims))],
                hint="pass the array twice, once for each way",
            ).at(source=statement.location)
        found = dims
        for place, dim in enumerate(dims):
            if dim is not None:
                extent = local.shape[statement.dims.index(dim)]
                reach[place] = max(reach[place], _reach(tensor, dim, statement, extent, ranges))
        for dim, origin in enumerate(statement.origin):
            if dim not in dims and bounds(origin, ranges)[1] >= tensor.shape[dim]:
                raise UnsupportedFeatureError(
                    f"the index of `{tensor.name}` along dim {dim} may lie beyond the array",
                    table=[Row("greatest index", f"below {tensor.shape[dim]}", str(bounds(origin, ranges)[1]))],
                ).at(source=statement.location)
    dims = found or (None, None)
    tiles = [max(-(-tensor.shape[d] // TILE), r) if d is not None else 1 for d, r in zip(dims, reach)]
    return replace(tensor, row_dim=dims[0], column_dim=dims[1], tile_rows=tiles[0], tile_columns=tiles[1])


def _tile_dims(local: Local, dims: tuple[int, ...]) -> tuple[int | None, int | None]:
    if len(dims) == 2:
        return dims[0], dims[1]
    if len(dims) == 1:
        return (dims[0], None) if local.form == "column" else (None, dims[0])
    return (None, None)


def _reach(tensor: Tensor, dim: int, statement: Any, extent: int, ranges: Mapping[str, tuple[int, int]]) -> int:
    """How many tiles along a dim blocks reach, from where tiles begin."""
    origin = statement.origin[dim]
    low, high = bounds(origin, ranges)
    whole = isinstance(origin, Number) and origin.value + extent == tensor.shape[dim]
    if divided(origin, TILE) is None or low < 0 or (extent % TILE and not whole):
        raise UnsupportedFeatureError(
            f"blocks of `{tensor.name}` begin or end inside a tile",
            table=[
                Row(f"first element along dim {dim}", f"a multiple of {TILE}, not negative", str(origin)),
                Row("elements", f"a multiple of {TILE}, or up to the array's end", str(extent)),
            ],
            hint=f"blocks of multiples of {TILE}",
        ).at(source=statement.location)
    return -(-(high + extent) // TILE)
