"""A pass as a value: its name, its stage, where it is written, what it makes and what it expects.

The tuples of passes are loaded for a look at their names: they import nothing but the standard library, and a pass
names its file and function instead of importing them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

# What a pass does with the module.
REWRITES = "rewrites"  # and can be shown by knobs.print_after
DECIDES = "decides"  # finds out what later passes need
CHECKS = "checks"  # raises an error, or changes nothing
OUTSIDE = "outside"  # Triton's own stage, or another tool

# How often a pass must find what it looks for, in a kernel that asks for it.
ANY = 0
PROMISED = 1  # at least once: the kernel, or one of its fragments, promised that it stands there

# The stage of passes over one fragment, by itself. They run while it is compiled, and `print_after` does not show them.
FRAGMENT_STAGE = "fragment"


@dataclass(frozen=True)
class Pass:
    """One step of a pipeline.

    Attributes
    ----------
    name : for settings, errors and lists.
    stage : the stage of the compilation in which it runs, as Triton calls it.
    file : where it is written, within the package.
    run : the function of that file.
    does : what the module is, or what is known of it, afterwards.
    kind : ``REWRITES``, ``DECIDES``, ``CHECKS`` or ``OUTSIDE``.
    expects : how often it must find its pattern where the kernel asks for the pass: ``ANY`` or ``PROMISED``.
    for_speed : the code is as right without it, and slower: ``knobs.disable_passes`` turns it off.
    also : names by which the passes of TLE are known elsewhere, of what this one does: the settings take them too.
    """

    name: str
    stage: str
    file: str
    run: str
    does: str
    kind: str = REWRITES
    expects: int = ANY
    for_speed: bool = False
    also: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The file as Python imports it."""
        return "tle_raw." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def can_be_shown(self) -> bool:
        """Whether ``knobs.print_after`` takes it."""
        return self.kind == REWRITES and self.stage != FRAGMENT_STAGE


@runtime_checkable
class HasPasses(Protocol):
    """A target whose kernels go through pipelines of passes."""

    def pipelines(self) -> Mapping[str, tuple[Pass, ...]]:
        """Each under the kernels that it is for, in the order in which its passes run."""
