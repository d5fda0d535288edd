"""Which product of an executor may be under way while the next step's tiles are waited for.

On sm_90 a product of two tiles that lie in slots, whose sum only goes to the next iteration: nobody needs it before the
next product has begun. Its slot is given back an iteration later.
"""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.flir.nvidia.executor_rings import Ring
from tle_raw.flir.nvidia.executor_slots import Field
from tle_raw.flir.split_executors import Part, Split
from tle_raw.linker.mlir.generic_tree import Operation, Value

HOPPER = 90
_HALVES = ("f16", "bf16")
_VIEWS = ("tt.trans", "tt.reshape", "tt.expand_dims", "tt.broadcast")
TURNED = "order = array<i32: 1, 0>"
_ROWS, _COLUMNS, _DEPTH = 64, 8, 16  # of wgmma


class Products:
    """What is known of an executor's products, and of the tiles that they read."""

    def __init__(self, split: Split, uses: Sequence[set[Value]], rings: Sequence[Ring]) -> None:
        self.split, self.uses, self.rings = split, uses, rings

    def under_way(self, part: Part) -> int | None:
        """The place of such a product in the loop's body."""
        fields = {each.value: each for ring in self.rings for each in ring.fields if each.value in part.reads}
        for place in sorted(part.places):
            operation = self.split.operations[place]
            if operation.name != "tt.dot" or not self._adds_up(part, operation):
                continue
            tiles = [self._tile(part, value, fields) for value in operation.operands[:2]]
            if all(tile is not None and tile.element in _HALVES and tile.swizzle > 0 for tile in tiles):
                return place if _fits(operation) else None
        return None

    def is_turned(self, place: int) -> bool:
        """Whether an operation transposes a matrix."""
        operation = self.split.operations[place]
        return operation.name == "tt.trans" and TURNED in operation.details

    def last_use(self, part: Part, value: Value) -> int:
        """Where a buffer may still be read in place of the value: by what sees it turned or reshaped, too."""
        last, stack = -1, [value]
        while stack:
            each = stack.pop()
            for place in part.places:
                if each in self.uses[place]:
                    last = max(last, place)
                    if self.split.operations[place].name in _VIEWS:
                        stack += self.split.operations[place].results
        return last

    def reads(self, part: Part, product: int | None, ring: Ring) -> bool:
        """Whether a product reads tiles of a ring."""
        values = [each.value for each in ring.fields if each.value in part.reads]
        return product is not None and any(self.last_use(part, value) == product for value in values)

    def _adds_up(self, part: Part, product: Operation) -> bool:
        """Whether a product's sum is a variable of the loop, and nothing else sees it."""
        made, variable = product.results[0], product.operands[2]
        arguments = self.split.body.arguments
        if variable not in arguments[1:] or not made.type.endswith("xf32>"):
            return False
        number = arguments.index(variable) - 1
        users = [place for place in part.places if variable in self.uses[place] or made in self.uses[place]]
        handed = [each for each, value in enumerate(self.split.yielded) if value in (made, variable)]
        return len(users) == 1 and handed == [number] and self.split.yielded[number] is made

    def _tile(self, part: Part, value: Value, fields: dict[Value, Field]) -> Field | None:
        """The field that an operand comes from, as it is or transposed, where nothing else reads it."""
        users = [place for place in part.places if value in self.uses[place]]
        if len(users) != 1 or any(value is each for each in self.split.yielded):
            return None
        if value in fields:
            return fields[value]
        made = value.definition
        if made is None or made not in self.split.operations or not self.is_turned(self.split.operations.index(made)):
            return None
        return self._tile(part, made.operands[0], fields)


def _fits(product: Operation) -> bool:
    rows, columns = (int(dim) for dim in product.results[0].type.removeprefix("tensor<").split("x")[:2])
    depth = int(product.operands[0].type.split("x")[1])
    return rows % _ROWS == 0 and columns % _COLUMNS == 0 and depth >= _DEPTH
