"""``kernel.asm["tle"]``: a stage of kernels with regions that shows them and hands the module on as it is.

Triton stores what each stage gives, under the stage's name. The stage is added while the kernel's first region is
traced, when Triton has the dictionary of stages but has run none of them, so that plain kernels have the stages that
they always had. A kernel that is compiled from a file of Triton's IR is not traced, and has no view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tle_raw.errors import TLEError
from tle_raw.flir.print_after import print_after

NAME, BEFORE = "tle", "ttir"
Stage = Callable[[Any, dict[str, Any]], Any]


@dataclass(frozen=True)
class Shown:
    """What the stage gives: a text for Triton to store, and the module for the stage that follows."""

    text: str
    module: Any

    def __str__(self) -> str:
        return self.text


def add_view(stages: dict[str, Stage]) -> None:
    """Put the stage behind Triton's ``ttir``, once."""
    names = list(stages)
    if NAME in names or BEFORE not in names[:-1]:
        return
    rest = {name: stages.pop(name) for name in names[names.index(BEFORE) + 1 :]}
    following = next(iter(rest))
    latest: list[Any] = []

    def tle(module: Any, metadata: dict[str, Any]) -> Shown:
        latest[:] = [module]
        text = _text(module)
        print_after("show-regions", text)
        return Shown(text, module)

    def unwrapped(shown: Any, metadata: dict[str, Any]) -> Any:
        # A dumped view that comes back by TRITON_KERNEL_OVERRIDE is no module: the view changes nothing.
        return rest[following](shown.module if isinstance(shown, Shown) else latest[0], metadata)

    stages[NAME] = tle
    stages.update({**rest, following: unwrapped})


def _text(module: Any) -> str:
    from tle_raw.flir.dialect.show_regions import show_regions

    text = module.str()
    try:
        return show_regions(text)
    except TLEError as e:  # the stage that lowers the regions says it with the kernel's line
        return f"// the regions cannot be shown: {e.message}\n{text}"
