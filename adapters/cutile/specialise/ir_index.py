"""Where the values of a function's typed IR come from, who reads them, and in which body each operation stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tle_raw.adapters.cutile.ir_types import Block, Operation, Variable
from tle_raw.adapters.cutile.typed_ir import TypedFunction

JUMPS = ("continue", "break", "end_branch")
_KNOWN = ("assume_bounded", "assume_div_by", "assign")


class IrIndex:
    """``top`` is the function's own block."""

    def __init__(self, typed: TypedFunction) -> None:
        self.typed, self.top = typed, typed.block
        self.makers: dict[str, Operation] = {}
        self.readers: dict[str, list[Operation]] = {}
        self._home: dict[int, Block] = {}
        self._owner: dict[int, Operation] = {}
        self.inside: dict[str, Operation] = {}  # the loop, by the name of a variable of its body
        self.operations: list[Operation] = []
        self._enter(typed.block)
        self._paths = {group[0].name: path for path, group in typed.arrays.items()}
        self._sizes = {
            v.name: (path, dim) for path, group in typed.arrays.items() for dim, v in enumerate(group[1 : _rank(group)])
        }

    def _enter(self, block: Block) -> None:
        for op in block:
            self.operations.append(op)
            self._home[id(op)] = block
            for result in op.result_vars:
                self.makers[result.name] = op
            for variable in op.all_inputs():
                self.readers.setdefault(variable.name, []).append(op)
            for inner in op.nested_blocks:
                self._owner[id(inner)] = op
                self._enter(inner)
            if op.op == "loop":
                variables = [*op.body_vars, *([op.induction_var] if op.is_for_loop else [])]
                self.inside.update({v.name: op for v in variables})

    def home(self, op: Operation) -> Block:
        """The block that an operation stands in."""
        return self._home[id(op)]

    def owner(self, block: Block) -> Operation | None:
        """The loop or the branch whose block it is; None of the function's own."""
        return self._owner.get(id(block))

    def around(self, op: Operation) -> Iterator[Operation]:
        """The loops and branches around an operation, from within."""
        found = self.owner(self.home(op))
        while found is not None:
            yield found
            found = self.owner(self.home(found))

    def place(self, op: Operation) -> int:
        """The number of the function's own operation that holds it, or is it."""
        outermost = [op, *self.around(op)][-1]
        return next(number for number, each in enumerate(self.top) if each is outermost)

    def known(self, variable: Variable) -> Variable:
        """The variable that this one is, but for what cuTile knows of it."""
        maker = self.makers.get(variable.name)
        while maker is not None and maker.op in _KNOWN:
            variable = maker.value if maker.op == "assign" else maker.x
            maker = self.makers.get(variable.name)
        return variable

    def array_of(self, view: Variable) -> str | None:
        """The array that a view is one of, by its path; None where it is none of the arguments, as a whole."""
        maker = self.makers.get(view.name)
        while maker is not None and maker.op.startswith("make_") and maker.op != "make_tensor_view":
            maker = self.makers.get(maker.array.name) if hasattr(maker, "array") else None
        if maker is None or maker.op != "make_tensor_view":
            return None
        path = self._paths.get(self.known(maker.base_ptr).name)
        if path is None:
            return None
        names = [self.known(v).name for v in (*maker.shape, *maker.strides)]
        return path if names == [v.name for v in self.typed.arrays[path][1:]] else None

    def memory_of(self, pointer: Variable) -> str | None:
        """The array that an address, or a tile of addresses, lies in; None where it is not known."""
        maker = self.makers.get(self.known(pointer).name)
        while maker is not None and maker.op in ("pointer_offset", "tile_reshape", "tile_broadcast", "tile_permute"):
            pointer = maker.pointer if maker.op == "pointer_offset" else maker.x
            maker = self.makers.get(self.known(pointer).name)
        return self._paths.get(self.known(pointer).name)

    def size_of(self, variable: Variable) -> tuple[str, int] | None:
        """The array and its dim that a number is the size of."""
        return self._sizes.get(self.known(variable).name)


def _rank(group: Sequence[Any]) -> int:
    return 1 + (len(group) - 1) // 2


def is_loop(op: Operation) -> bool:
    """Whether it is a loop over a range, which runs to its end."""
    return bool(op.op == "loop" and op.is_for_loop and not any(_leaves(inner) for inner in list(op.body)[:-1]))


def _leaves(op: Operation) -> bool:
    """Whether a jump of the loop around stands in an operation."""
    if op.op in ("continue", "break"):
        return True
    return op.op == "ifelse" and any(_leaves(inner) for block in op.nested_blocks for inner in block)
