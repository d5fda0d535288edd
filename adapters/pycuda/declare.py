"""Declares fragments of generated or given CUDA text, at the line of the user's that asks for them."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tle_raw.errors import SourceLocation, TLEError
from tle_raw.fragments.adapter import Declaration
from tle_raw.fragments.signature import Signature
from tle_raw.linker.tools.wheels import package_folder
from tle_raw.registry import find_adapter

if TYPE_CHECKING:
    from tle_raw.fragments.fragment import Fragment

# PyCUDA's header of complex numbers, which its own generated kernels include.
COMPLEX_HEADER = "#include <pycuda-complex.hpp>"

PACKAGES = ("tle_raw.", "pycuda.")

# nvcc's options for ptxas and for the host: Triton assembles, and there is no host code.
_ASSEMBLER = ("-Xptxas", "--ptxas-options", "--maxrregcount", "-maxrregcount")
_HOST = ("-Xcompiler", "-Xlinker", "--compiler-options", "-ccbin", "--compiler-bindir")
_WITH_VALUE = (*_ASSEMBLER, *_HOST, "-arch", "-code", "--gpu-architecture", "--gpu-code")
_WITHOUT_VALUE = ("-keep", "--keep", "-m64", "-m32", "-G", "--device-debug", "-g", "--resource-usage", "-res-usage")


@dataclass(frozen=True)
class Recipe:
    """What a fragment keeps of how it was made: ``whole`` makes the fragment that does the same to arrays in memory."""

    whole: Callable[[], Any]


def caller_location() -> SourceLocation:
    """The line that called into this package, or into PyCUDA."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(PACKAGES):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    return SourceLocation(file, line, 0, linecache.getline(file, line).rstrip())


def declare_text(
    name: str,
    text: str,
    symbol: str,
    signature: Signature | None,
    options: Mapping[str, Any],
    location: SourceLocation,
    recipe: Recipe | None = None,
) -> Fragment:
    """A fragment of the dialect "pycuda"; with a recipe it can be launched alone, too."""
    from tle_raw.fragments.declare import declare  # brings Triton, which adapters load without

    given = {"source": text, "symbol": symbol, **options}
    folder = Path(location.file).resolve().parent if Path(location.file).exists() else Path.cwd()
    try:
        declaration = Declaration(name, signature, given, location, folder, wrapped=recipe or text)
        return declare(find_adapter("pycuda"), declaration)
    except TLEError as error:
        raise error.at(fragment=name, source=location) from None


def clang_flags(options: Any) -> list[str]:
    """PyCUDA's ``options``, which are nvcc's, without those that have no meaning before Triton's own assembler."""
    given = [options] if isinstance(options, str) else list(options or ())
    kept = ["-Wno-invalid-constexpr"]  # PyCUDA's complex numbers: nvcc takes their constexpr functions as they are
    skip = False
    for option in given:
        if skip:
            skip = False
        elif option in _WITH_VALUE:
            skip = True
        elif option not in _WITHOUT_VALUE and not option.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            kept.append(option)
    return kept


def generated_options(options: Any) -> dict[str, Any]:
    """The options of text that this package writes around the user's."""
    return {"flags": clang_flags(options), "include_dirs": pycuda_headers(), "no_extern_c": True}


def pycuda_headers() -> Sequence[str]:
    """The folder of PyCUDA's own headers, where PyCUDA is installed."""
    folder = package_folder("pycuda")
    return [str(folder / "cuda")] if folder and (folder / "cuda").is_dir() else []
