"""Finds cuRAND's headers, which ``T.rng_*`` needs: they come with a CUDA toolkit, or in a wheel of their own."""

from __future__ import annotations

from pathlib import Path

from tle_raw.linker.tools.wheels import wheel_files, wheel_version

HEADER = "curand_kernel.h"
INSTALL = "pip install nvidia-curand  (or install a whole CUDA toolkit and set knobs.cuda.toolkit)"
_WHEELS = ("nvidia-curand", "nvidia-curand-cu12")  # CUDA 13's and CUDA 12's


def curand_folders(text: str, toolkit: Path) -> tuple[Path, ...]:
    """The wheel's folder, where a text asks for cuRAND and the toolkit does not have it."""
    if HEADER not in text or (toolkit / "include" / HEADER).is_file():
        return ()
    found = (file.parent for wheel in _WHEELS for file in wheel_files(wheel, HEADER) if file.is_file())
    return tuple(found)[:1]


def curand_version() -> str:
    """The wheel's name and version; "" where there is none."""
    return next((f"{wheel} {version}" for wheel in _WHEELS if (version := wheel_version(wheel))), "")
