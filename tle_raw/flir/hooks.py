"""Join Triton's stages: one hook, chained with what is there, that costs nothing where no region is."""

from __future__ import annotations

import threading
from typing import Any

from triton import knobs

from tle_raw.errors import RegionError
from tle_raw.flir.view import add_view

_STATE = threading.local()
_INSTALL_LOCK = threading.Lock()
OTHER = "other"  # a backend that knows no regions


class StagesHook:
    """Triton calls this with the stages of each compilation, and from 3.7 without arguments at each launch."""

    def __init__(self, earlier: Any) -> None:
        self.earlier = earlier
        # The fragments' own cache keys cover what regions change; plain kernels do not change at all.
        self.no_key = ("", "")

    def __call__(self, backend=None, stages=None, options=None, language=None, capability=None):
        if backend is None:
            return self.earlier() if self.earlier is not None else self.no_key
        if self.earlier is not None:
            self.earlier(backend, stages, options, language, capability)
        _STATE.target, _STATE.stages = OTHER, None
        if capability is not None:
            from tle_raw.flir.nvidia.pipeline import join_stages

            join_stages(stages, options, capability)
            join("cuda", stages)
        return None


def install() -> None:
    """Put the hook into Triton's one slot; a hook that is there runs first. Idempotent."""
    with _INSTALL_LOCK:
        there = knobs.runtime.add_stages_inspection_hook
        if not isinstance(there, StagesHook):
            knobs.runtime.add_stages_inspection_hook = StagesHook(there)


def check_joined() -> None:
    """Called while a region is traced: the stages of this compilation must be ours. They get one that shows regions.

    Raises
    ------
    RegionError : the compilation is for another backend, or somebody replaced the hook without calling it; then it is
        put back for the next compilation.
    """
    target = joined_target()
    stages = getattr(_STATE, "stages", None)
    if target and target != OTHER and stages is not None:
        add_view(stages)
    if target == OTHER:
        raise RegionError(
            "regions work on NVIDIA GPUs and on CPUs in this release, and this kernel is compiled for another backend"
        )
    if target:
        return
    install()
    raise RegionError(
        "the stages of this compilation do not know regions: triton.knobs.runtime.add_stages_inspection_hook "
        "was replaced after tle_raw had set it",
        hint="call the earlier hook from yours; tle_raw has put its hook back, so that the next compilation works",
    )


def join(target: str, stages: dict[str, Any]) -> None:
    """This thread compiles with ``stages``, which know regions, for ``cuda`` or ``cpu``."""
    _STATE.target, _STATE.stages = target, stages


def joined_target() -> str:
    """What this thread's compilation is for: ``cuda``, ``cpu``, ``other``, or nothing when no stages were joined."""
    return getattr(_STATE, "target", "")


def leave() -> None:
    """The stages of this thread's compilation are done."""
    _STATE.target, _STATE.stages = "", None
