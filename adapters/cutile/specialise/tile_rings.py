"""Loads of tiles that another warp can make by the copy engine: of arrays that are only read, for products alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tle_raw.adapters.cutile.dtypes import triton_name
from tle_raw.adapters.cutile.ir_types import Operation, Variable
from tle_raw.adapters.cutile.specialise.facts import Facts, Unfit
from tle_raw.adapters.cutile.specialise.ir_index import IrIndex

BYTES = {"float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}  # of an element
ALIGNED = 16  # multiples of which the copy engine takes
_ROWS, _COLUMN_BYTES = range(8, 257), range(32, 2049)  # of a tile
_WRITES = ("tile_store", "tile_atomic_red_view", "store_pointer", "tile_atomic_rmw", "tile_atomic_cas")
_VIEWS = ("tile_reshape", "tile_permute")


@dataclass(eq=False)
class TileRing:
    """The tiles of one or more loads of an array, which are never under way at once.

    Attributes
    ----------
    array : by its path. ``dims`` are those of the array in the order in which the copy engine counts them: where a
        tile has rows and columns comes last.
    tile : the shape of a tile in that order: ones, rows, columns.
    descriptor : the parameter of the Triton kernel that describes the array to the copy engine.
    loads : the operations. Their ``homes`` are the bodies that they stand in.
    slots : how many tiles there are at a time.
    stays : whether the tile is there for all of the kernel.
    """

    array: str
    dims: tuple[int, ...]
    tile: tuple[int, ...]
    dtype: str
    descriptor: str
    stays: bool
    loads: list[Operation] = field(default_factory=list)
    homes: frozenset[int] = frozenset()
    slots: int = 1

    @property
    def bytes(self) -> int:
        """Of one tile."""
        return prod(self.tile) * BYTES[self.dtype]

    @property
    def triton_dtype(self) -> str:
        return str(triton_name(self.dtype))

    @property
    def latency(self) -> int:
        """The greatest hint of its loads; 0 for none."""
        return max((load.latency or 0 for load in self.loads), default=0)


@dataclass(frozen=True, eq=False)
class Operand:
    """A tile of a ring as an operand of a product: as it lies, or turned."""

    ring: TileRing
    load: Operation
    turned: bool


class TileLoads:
    """Reads a kernel's loads. ``hidden`` are the operations, by identity, that the rings stand for."""

    def __init__(self, index: IrIndex, facts: Facts) -> None:
        self._index, self._facts = index, facts
        self.rings: list[TileRing] = []
        self.hidden: set[int] = set()
        self._of_load: dict[int, TileRing] = {}
        self._written = self._written_arrays()

    def operand(self, variable: Variable) -> Operand | None:
        """What a product reads, where a load is all that it comes from; None for what is computed.

        Raises
        ------
        Unfit : the copy engine does not take the load, or something else than products reads the tile.
        """
        views, load = self._load_of(variable)
        if load is None:
            return None
        ring = self._ring(load)
        self.hidden |= {id(load), *(id(view) for view in views)}
        rows_dim, columns_dim = (dim for dim, _ in self._walked(load, list(reversed(views))))
        return Operand(ring, load, (rows_dim, columns_dim) != ring.dims[-2:])

    def _load_of(self, variable: Variable) -> tuple[list[Operation], Operation | None]:
        """The load, and the views of its tile on the way, from the operand back."""
        views: list[Operation] = []
        maker = self._index.makers.get(variable.name)
        while maker is not None and maker.op in _VIEWS:
            views.append(maker)
            maker = self._index.makers.get(maker.x.name)
        return (views, maker) if maker is not None and maker.op == "tile_load" else ([], None)

    def reads_alone(self, load: Operation) -> bool:
        """Whether products, and views for products, are all that reads a load's tile."""
        waiting = [load.result_vars[0]]
        while waiting:
            for reader in self._index.readers.get(waiting.pop().name, []):
                if reader.op in _VIEWS:
                    waiting.append(reader.result_vars[0])
                elif reader.op != "tile_mma":
                    return False
        return True

    def _ring(self, load: Operation) -> TileRing:
        if id(load) in self._of_load:
            return self._of_load[id(load)]
        array = self._array(load)
        dims, tile = self._matrix(load, array)
        home, dtype = self._index.home(load), str(load.result_vars[0].get_type().dtype.name)
        stays = self._index.owner(home) is None
        ring = next((r for r in self.rings if self._may_share(r, array, dims, tile, stays, id(home))), None)
        if ring is None:
            name = f"tle_raw_tiles_{len(self.rings)}"
            ring = TileRing(array, dims, tile, dtype, name, stays)
            self.rings.append(ring)
        ring.loads.append(load)
        ring.homes |= {id(home)}
        self._of_load[id(load)] = ring
        return ring

    @staticmethod
    def _may_share(
        ring: TileRing, array: str, dims: tuple[int, ...], tile: tuple[int, ...], stays: bool, home: int
    ) -> bool:
        """Loads of one body are under way at once, and so is a tile that stays."""
        alike = (ring.array, ring.dims, ring.tile) == (array, dims, tile)
        return alike and not stays and not ring.stays and home not in ring.homes

    def of(self, load: Operation) -> TileRing | None:
        """The ring of a load that was planned."""
        return self._of_load.get(id(load))

    def _array(self, load: Operation) -> str:
        type_, array = load.view.get_type(), self._index.array_of(load.view)
        if array is None:
            raise Unfit("a tile is no tile of an argument")
        if load.allow_tma is False:
            raise Unfit(f"a load of `{array}` has allow_tma=False")
        if load.memory_order.name != "WEAK" or hasattr(type_, "sparse_dim"):
            raise Unfit(f"the tiles of `{array}` are gathered, or loaded in a memory order")
        if type_.padding_mode.name not in ("ZERO", "UNDETERMINED"):
            raise Unfit(f"the copy engine pads with zeros, and `{array}` with {type_.padding_mode.name}")
        if array not in self._facts.adjacent_dims:
            raise Unfit(f"the copy engine does not take `{array}`: its strides, its sizes, or where it begins")
        if array in self._written:
            raise Unfit(f"`{array}` is written, too, or something that overlaps with it")
        if str(load.result_vars[0].get_type().dtype.name) not in BYTES:
            raise Unfit(f"`{array}` has elements of {load.result_vars[0].get_type().dtype.name}")
        if not self.reads_alone(load):
            raise Unfit(f"a tile of `{array}` is read by something else than products")
        return array

    def _matrix(self, load: Operation, array: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The array's dims, and the tile's shape, as the copy engine has them."""
        type_ = load.view.get_type()
        shape, order = tuple(type_.tile_shape), tuple(getattr(type_, "order", range(len(type_.tile_shape))))
        sizes = dict(zip(order, shape))
        walked = [dim for dim in order if sizes[dim] != 1]
        adjacent = [dim for dim in walked if dim in self._facts.adjacent_dims[array]]
        if len(walked) != 2 or not adjacent:
            raise Unfit(f"the tiles of `{array}` are no matrices whose rows or columns lie in one piece")
        columns = adjacent[-1]
        rows = next(dim for dim in walked if dim != columns)
        element = BYTES[str(load.result_vars[0].get_type().dtype.name)]
        steps = dict(zip(order, getattr(type_, "traversal_steps", shape)))
        width = sizes[columns] * element
        if sizes[rows] not in _ROWS or width not in _COLUMN_BYTES or steps[columns] * element % ALIGNED:
            raise Unfit(f"the copy engine takes no tile of {sizes[rows]} by {sizes[columns]}, as `{array}` has it")
        others = [dim for dim in range(len(shape)) if dim not in (rows, columns)]
        dims = (*others, rows, columns)
        return dims, tuple(sizes[dim] for dim in dims)

    def _walked(self, load: Operation, views: Sequence[Operation]) -> list[tuple[int, int]]:
        """The array's dims that are walked by the rows and columns of a tile's view."""
        type_ = load.view.get_type()
        order = tuple(getattr(type_, "order", range(len(type_.tile_shape))))
        axes: list[tuple[int, int]] = list(zip(order, type_.tile_shape))
        for view in views:
            if view.op == "tile_permute":
                axes = [axes[axis] for axis in view.axes]
                continue
            shape, kept = tuple(view.result_vars[0].get_type().shape), [axis for axis in axes if axis[1] != 1]
            if [size for size in shape if size != 1] != [size for _, size in kept]:
                raise Unfit("a tile gets another shape before it is multiplied")
            rest = iter(kept)
            axes = [(-1, 1) if size == 1 else next(rest) for size in shape]
        found = axes[-2:]
        if any(size == 1 for _, size in found) or any(size != 1 for _, size in axes[:-2]):
            raise Unfit("a batch of tiles is multiplied at once")
        return found

    def _written_arrays(self) -> set[str]:
        """What the kernel may write, with what overlaps with that."""
        found: set[str] = set()
        for op in self._index.operations:
            if op.op not in _WRITES:
                continue
            array = self._index.array_of(op.view) if hasattr(op, "view") else self._index.memory_of(op.pointer)
            if array is None and hasattr(op, "view"):
                array = self._index.memory_of(self._base(op.view))
            if array is None:
                raise Unfit("the kernel writes to addresses of which it is not known in which array they lie")
            found.add(array)
        pairs = self._facts.overlapping
        return found | {b for pair in pairs for a, b in (pair, pair[::-1]) if a in found}

    def _base(self, view: Variable) -> Any:
        """The address of the array that a view is one of."""
        maker = self._index.makers.get(view.name)
        while maker is not None and maker.op != "make_tensor_view":
            maker = self._index.makers.get(maker.array.name) if hasattr(maker, "array") else None
        if maker is None:
            raise Unfit("the kernel writes to an array that is none of its arguments")
        return maker.base_ptr
