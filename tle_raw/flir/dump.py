"""``kernel.asm["tle"]``: a stage of kernels with regions that shows them and hands the module on as it is.

Triton stores what each stage gives, under the stage's name. The stage is added while the kernel's first region is
traced, when Triton has the dictionary of stages but has run none of them, so that plain kernels have the stages that
they always had. A kernel that is compiled from a file of Triton's IR is not traced, and has no dump.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import TLEError
from tle_raw.flir.passes import DUMP
from tle_raw.flir.run_stage import run_stage

NAME, BEFORE = "tle", "ttir"
Stage = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True)
class Shown:
    """What the stage gives: a text for Triton to store, and the module for the stage that follows."""

    text: str
    module: Any

    def __str__(self) -> str:
        return self.text


def add_dump(stages: dict[str, Stage]) -> None:
    """Put the stage behind Triton's ``ttir``, once."""
    names = list(stages)
    if NAME in names or BEFORE not in names[:-1]:
        return
    rest = {name: stages.pop(name) for name in names[names.index(BEFORE) + 1 :]}
    following = next(iter(rest))
    latest: list[Any] = []

    def tle(module: Any, metadata: dict[str, Any]) -> Shown:
        latest[:] = [module]
        view = View(module)
        run_stage(DUMP, NAME, view)
        return Shown(view.text(), module)

    def unwrapped(shown: Any, metadata: dict[str, Any]) -> Any:
        # A dump that comes back by TRITON_KERNEL_OVERRIDE is no module: the dump changes nothing.
        return rest[following](shown.module if isinstance(shown, Shown) else latest[0], metadata)

    stages[NAME] = tle
    stages.update({**rest, following: unwrapped})


class View:
    """The one pass of the stage: see ``run_stage``. The module stays as it is."""

    def __init__(self, module: Any) -> None:
        self._text: str = module.str()

    def text(self) -> str:
        return self._text

    def show_regions(self) -> int:
        from tle_raw.flir.dialect.show_regions import show_regions

        try:
            self._text = show_regions(self._text)
        except TLEError as e:  # the stage that lowers the regions says it with the kernel's line
            self._text = f"// the regions cannot be shown: {e.message}\n{self._text}"
        return 1
