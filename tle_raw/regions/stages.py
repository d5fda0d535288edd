"""A thread's compilation: which target it is for, and whether Triton's stages know regions.

Triton has one slot for a hook that sees the stages of each compilation. Ours is chained with what is there, and costs
nothing where no region is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from triton import knobs

from tle_raw.errors import RegionError
from tle_raw.regions import early_triton_key
from tle_raw.registry import find_target
from tle_raw.targets.base import JoinsStages
from tle_raw.thread_lock import ThreadLock

_STATE = threading.local()
_INSTALL_LOCK = ThreadLock()
# What stood in Triton's slot when the hook was called last: ours, or a later one that passes the stages on.
_reached_through: Any = None
Show = Callable[[dict[str, Any]], None]
OTHER = "other"  # a backend that knows no regions
HOOKED = "cuda"  # the backend of Triton's that passes a capability to its hook


class StagesHook:
    """Triton calls this with the stages of each compilation, and from 3.7 without arguments at each launch."""

    def __init__(self, earlier: Any) -> None:
        self.earlier = earlier
        # The fragments' own cache keys cover what regions change; plain kernels do not change at all.
        self.no_key = ("", "")

    def __call__(
        self, backend: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None
    ) -> Any:
        if backend is None:
            return self.earlier() if self.earlier is not None else self.no_key
        if self.earlier is not None:
            self.earlier(backend, stages, options, language, capability)
        global _reached_through
        _reached_through = knobs.runtime.add_stages_inspection_hook
        _STATE.target, _STATE.stages, _STATE.options = OTHER, None, options
        if capability is not None:
            target = find_target(HOOKED)
            if isinstance(target, JoinsStages):
                target.add_stages(stages, options, capability)
        return None


def install() -> None:
    """Put the hook into Triton's one slot; a hook that is there runs first. Idempotent."""
    early_triton_key.begin()
    with _INSTALL_LOCK:
        there = knobs.runtime.add_stages_inspection_hook
        if not isinstance(there, StagesHook):
            knobs.runtime.add_stages_inspection_hook = StagesHook(there)


def check_stages(options: Any, what: str = "regions") -> bool:
    """Called while a region is traced with such options: the stages of this compilation must be ours.

    They get one that shows regions, where regions are what is traced. False says that there are no stages: somebody
    makes Triton IR to look at it, as torch.compile does.

    Raises
    ------
    RegionError : the compilation is for another backend, or somebody replaced the hook without calling it; then it is
        put back for the next compilation.
    """
    target = compiled_target() if getattr(_STATE, "options", None) is options else ""
    stages = getattr(_STATE, "stages", None)
    if target and target != OTHER and stages is not None and what == "regions":
        _STATE.show(stages)
    if target == OTHER:
        raise RegionError(
            f"{what} work on NVIDIA GPUs and on CPUs in this release, and this kernel is compiled for another backend"
        )
    if target:
        return True
    if _would_be_joined():
        end_compilation()  # one that failed while its kernel was traced is over
        return False
    install()
    raise RegionError(
        f"the stages of this compilation do not know {what}: triton.knobs.runtime.add_stages_inspection_hook "
        "was replaced after tle_raw had set it",
        hint="call the earlier hook from yours; tle_raw has put its hook back, so that the next compilation works",
    )


def _would_be_joined() -> bool:
    """Whether a compilation would reach the hook, directly or through a later one that calls it."""
    there = knobs.runtime.add_stages_inspection_hook
    return isinstance(there, StagesHook) or (there is not None and there is _reached_through)


def begin_compilation(target: str, stages: dict[str, Any], options: Any, show: Show) -> None:
    """This thread compiles with ``stages``, which know regions, and ``options``.

    Parameters
    ----------
    target : the backend: ``cuda``, ``cpu``, or another target's.
    show : called with the stages when the first region is traced: it adds the one that shows regions.
    """
    _STATE.target, _STATE.stages, _STATE.options, _STATE.show = target, stages, options, show
    _STATE.points = False
    _STATE.pipes = 0
    _STATE.cluster, _STATE.counts_clusters = ((), ""), False


def note_pointers() -> None:
    """The kernel that is traced points into a shared buffer."""
    _STATE.points = True


def has_pointers() -> bool:
    """Whether the kernel of this thread's compilation points into shared buffers, once it is traced."""
    return bool(getattr(_STATE, "points", False))


def note_cluster(shape: tuple[int, ...], mesh: str) -> tuple[tuple[int, ...], str]:
    """The kernel that is traced has clusters of this shape, as a mesh says; what was noted first."""
    first: tuple[tuple[int, ...], str] = getattr(_STATE, "cluster", ((), ""))
    if not first[0]:
        first = _STATE.cluster = (shape, mesh)
    return first


def noted_cluster() -> tuple[int, ...]:
    """The shape of a cluster of the kernel that is traced; empty where no mesh has said it yet."""
    return tuple(getattr(_STATE, "cluster", ((), ""))[0])


def count_clusters() -> None:
    """Grids of the kernel that is traced count clusters, and not blocks."""
    _STATE.counts_clusters = True


def counts_clusters() -> bool:
    """Whether they do."""
    return bool(getattr(_STATE, "counts_clusters", False))


def number_pipe() -> int:
    """Which of the kernel's pipes is the one that is traced now: 0, 1, ..."""
    _STATE.pipes = getattr(_STATE, "pipes", 0) + 1
    return int(_STATE.pipes - 1)


def compiled_target() -> str:
    """What this thread compiles for: ``cuda``, ``cpu``, ``other``, or nothing when no compilation has begun."""
    return getattr(_STATE, "target", "")


def is_looked_at() -> bool:
    """Whether nobody compiles the kernel that is traced: torch.compile looks at its Triton IR for loads and stores."""
    return not compiled_target()


def end_compilation() -> None:
    """The kernel of this thread's compilation is traced: its stages run."""
    _STATE.target, _STATE.stages, _STATE.options, _STATE.show = "", None, None, None
