"""What errors tell of torch's headers and classes, for which small ones stand in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tle_raw.adapters.cpp.diagnostics import Diagnostic
from tle_raw.adapters.cpp.installed_headers import folder_with
from tle_raw.adapters.cuda.host_files import TORCH, ProgramFiles
from tle_raw.adapters.cuda.host_plans import Plan
from tle_raw.adapters.cuda.torch_host_headers import LIGHT_TORCH

# Torch's numbers turn into CUDA's and into `float`, so that both have an operator for them. Torch's builds of
# extensions leave CUDA's out, by these macros.
BOTH_HAVE = re.compile(r"use of overloaded operator '[^']+' is ambiguous .*'(?:const )?(?:\w+::)*(?:Half|BFloat16)\b")
# What no leaving out of host functions mends.
NEEDS_CLASSES = re.compile(
    r"(?:(?:field|base class) has incomplete type|implicit instantiation of undefined template) '(?:at|c10|torch)::"
    r"|no (?:type|template) named '\w+' in namespace '(?:at|c10|torch)\b"
)
_OF_TORCH = re.compile(r"\b(?:at|c10|torch)::")
# What of torch's namespaces nobody declares, and what is declared in its place.
_OF_TORCHS_NAMESPACES = re.compile(
    r"no (type|member|template) named '(\w+)' in namespace '((?:at|c10|torch)(?:::\w+)*)'"
)
_IN_PLACE = {
    "type": "namespace {1} {{ struct {0} : ::tle_raw::torch::Any {{ using Any::Any; }}; }}",
    "template": "namespace {1} {{ template <class...> struct {0} : ::tle_raw::torch::Any {{ using Any::Any; }}; }}",
    "member": "namespace {1} {{ template <class... T> ::tle_raw::torch::Result {0}(TLE_RAW_ANY); }}",
}


def lacks_torch(files: ProgramFiles, plan: Plan, errors: Sequence[Diagnostic]) -> bool:
    """Whether an error is of torch's classes, or lies in its headers, while its numbers alone stand in for it."""
    if not plan.is_light or not files.takes_torch:
        return False
    folder = folder_with(TORCH)
    places = ((told.text, told.location) for error in errors for told in (error, *error.notes))
    return any(
        _OF_TORCH.search(text)
        or (place and folder and any(map(Path(place.file).is_relative_to, (folder, LIGHT_TORCH))))
        for text, place in places
    )


def torchs_headers(files: ProgramFiles, plan: Plan, errors: Sequence[Diagnostic]) -> Iterator[str]:
    """Headers of torch's whose host code knows torch's classes, which are only declared."""
    folder = folder_with(TORCH) if plan.is_light and files.takes_torch else None
    places = (Path(error.location.file) for error in errors if error.location)
    yield from (os.path.normpath(place) for place in places if folder and place.is_relative_to(folder))


def declarations_in_place(errors: Sequence[Diagnostic]) -> Iterator[str]:
    """Of names that host code has, in the place of torch's own declarations.

    None is of use in device code, where it is a host's function, or a class with virtual ones.
    """
    for error in errors:
        if found := _OF_TORCHS_NAMESPACES.match(error.text):
            yield _IN_PLACE[found[1]].format(found[2], found[3])
