"""Triton's launchers for NVIDIA GPUs: what looks at the launches of chosen kernels before they begin."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tle_raw.thread_lock import ThreadLock

# A launch's arguments, the grid first, as they are to go on.
Look = Callable[[tuple[Any, ...]], tuple[Any, ...]]

_NAMES = "tle_raw_looks"
_LOCK = ThreadLock()


def look_at_launches(look_for: Callable[[Any, Any], Look | None]) -> None:
    """Launchers ask once what looks at the launches of their kernel: nothing at those of most. Idempotent.

    ``look_for`` takes a kernel's source and metadata. What it gives may raise, and then nothing is launched.
    """
    try:
        from triton.backends.nvidia.driver import CudaLauncher
    except ImportError:  # a build of Triton may leave that backend out
        return
    name = f"{look_for.__module__}.{look_for.__qualname__}"
    with _LOCK:
        if name not in getattr(CudaLauncher.__init__, _NAMES, ()):
            CudaLauncher.__init__ = looking(CudaLauncher.__init__, look_for)
            setattr(CudaLauncher.__init__, _NAMES, (*getattr(CudaLauncher.__init__, _NAMES, ()), name))


def looking(own: Callable[..., None], look_for: Callable[[Any, Any], Look | None]) -> Callable[..., None]:
    """A launcher's ``__init__`` that asks."""

    @wraps(own)
    def __init__(self: Any, source: Any, metadata: Any) -> None:
        own(self, source, metadata)
        look = look_for(source, metadata)
        if look is not None:
            self.launch = _launching(self.launch, look)

    return __init__


def _launching(launch: Callable[..., Any], look: Look) -> Callable[..., Any]:
    @wraps(launch)
    def launched(*arguments: Any) -> Any:
        return launch(*look(arguments))

    return launched
