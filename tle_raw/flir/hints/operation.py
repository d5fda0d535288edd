"""An operation of Triton IR that has a hint, as a handler sees and edits it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tle_raw.flir.operation_attributes import with_attributes
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.structure import Nest, nests, read_structure
from tle_raw.linker.mlir.text import split_top_level

LOOPS = ("scf.for", "scf.while")
_ATTRIBUTES = re.compile(r"\s*\}\) \{(?P<attributes>.*)\} : ")


@dataclass(frozen=True)
class Machine:
    """What is compiled for.

    Attributes
    ----------
    target : ``cuda`` or ``cpu``, or another target's name. capability : of a GPU, 90 for sm_90; else 0.
    num_stages : of the launch, for loops that say none themselves.
    """

    target: str
    capability: int
    num_stages: int


class HintedModule:
    """The lines of a module in MLIR's generic form, which handlers edit in place.

    Attributes
    ----------
    told : what handlers tell of the kernel as a whole. It stands in the kernel's metadata as ``tle_raw_told``.
    """

    def __init__(self, lines: list[str], machine: Machine) -> None:
        self.lines, self.machine = lines, machine
        self.told: dict[str, str] = {}
        self._loops = [nest for nest in nests(read_structure(lines)) if nest.is_loop]
        self._ends = {loop.begin: loop.end for loop in self._loops}
        self._makers: dict[str, int] = {}
        for number, line in enumerate(lines):
            left = line.lstrip().split(" = ", 1)[0] if " = " in line and line.lstrip().startswith("%") else ""
            for name in left.split(","):
                if name.strip():
                    self._makers[name.strip().split(":")[0]] = number

    def last_line(self, number: int) -> int:
        """The line that ends an operation which begins at one: another one where it has regions."""
        return self._ends.get(number, number)

    def loop_around(self, number: int) -> Nest | None:
        """The innermost loop that holds a line."""
        around = [loop for loop in self._loops if loop.begin < number < loop.end]
        return max(around, key=lambda loop: loop.begin, default=None)

    def maker_of(self, value: str) -> int | None:
        """The line of the operation that makes a value; None for an argument of a function or a loop."""
        return self._makers.get(value.split("#")[0])


@dataclass(frozen=True)
class HintedOperation:
    """One operation, by the line that it begins on."""

    module: HintedModule
    number: int

    @property
    def name(self) -> str:
        """``tt.load``, ``scf.for``, …"""
        return generic_name(self.module.lines[self.number])

    @property
    def machine(self) -> Machine:
        """What is compiled for."""
        return self.module.machine

    def read(self) -> GenericOperation:
        """The operation; one with regions cannot be read so."""
        return read_generic(self.module.lines[self.number])

    def attribute(self, name: str) -> str:
        """The text of a discardable attribute; "" where there is none."""
        last = self.module.last_line(self.number)
        if last == self.number:
            return self.read().attribute(name)
        match = _ATTRIBUTES.match(self.module.lines[last])
        return GenericOperation(self.name, attributes=match["attributes"]).attribute(name) if match else ""

    def set_attributes(self, changed: Mapping[str, str]) -> None:
        """Set discardable attributes."""
        last = self.module.last_line(self.number)
        self.module.lines[last] = with_attributes(self.module.lines[last], changed)

    def set_properties(self, changed: Mapping[str, str]) -> None:
        """Set properties; newer versions of Triton print none that has its default value."""
        operation = self.read()
        kept = [part for part in split_top_level(operation.properties) if part.split("=")[0].strip() not in changed]
        parts = [*(part.strip() for part in kept if part.strip()), *(f"{n} = {value}" for n, value in changed.items())]
        self.module.lines[self.number] = str(operation._replace(properties=", ".join(parts)))

    def loop(self) -> HintedOperation | None:
        """The innermost loop around it."""
        around = self.module.loop_around(self.number)
        return HintedOperation(self.module, around.begin) if around else None

    def stages(self) -> int:
        """Of the loop around it: what that says, or the launch."""
        around = self.loop()
        told = around.attribute("tt.num_stages").split(" ")[0] if around else ""
        return int(told) if told.isdigit() else self.machine.num_stages

    def inside(self) -> list[HintedOperation]:
        """Of a loop, the operations that stand in it."""
        last = self.module.last_line(self.number)
        return [HintedOperation(self.module, n) for n in range(self.number + 1, last)]
