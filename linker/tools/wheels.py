"""Finds files of installed wheels without importing them."""

from __future__ import annotations

import functools
import importlib.metadata as metadata
import importlib.util
from pathlib import Path


def wheel_version(distribution: str) -> str:
    """Version of an installed wheel, or ""."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


@functools.cache
def wheel_files(distribution: str, suffix: str) -> tuple[Path, ...]:
    """Absolute paths of a wheel's files that end with ``suffix``; none when it is not installed."""
    try:
        files = metadata.files(distribution) or ()
    except metadata.PackageNotFoundError:
        return ()
    return tuple(Path(str(file.locate())).resolve() for file in files if str(file).endswith(suffix))


def package_folder(name: str) -> Path | None:
    """Folder of an importable package. For wheels too large to list: ziglang has 19 000 files."""
    return next(iter(package_folders(name)), None)


def package_folders(name: str) -> tuple[Path, ...]:
    """The folders of an importable package; a namespace, as NVIDIA's wheels share one, may have several."""
    spec = importlib.util.find_spec(name)
    return tuple(Path(folder) for folder in (spec and spec.submodule_search_locations) or ())
