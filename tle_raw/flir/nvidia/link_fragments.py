"""Let Triton's own stage link the fragments, and inline and optimise them with the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from tle_raw.flir.nvidia.leave_out_libdevice import LIBRARY, calls_libdevice
from tle_raw.flir.nvidia.optimise_for_gpu import for_the_gpu
from tle_raw.flir.parse_module import parse_module
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.linker.llvm.plain_loops import WHOLE


def link_fragments(
    stage: Callable[[Any, dict[str, Any]], str],
    source: Any,
    metadata: dict[str, Any],
    compiled: Sequence[CompiledFragment],
    options: Any,
    *,
    before: str,
    without_libdevice: bool,
) -> str:
    """The kernel's LLVM IR with its fragments.

    Parameters
    ----------
    stage, source : Triton's own stage, and its module, on which it works in place.
    before : the module's text.
    without_libdevice : nothing seems to need that library. Where something does all the same, it is linked again.
    """
    text = _link(stage, source, metadata, compiled, options, without_libdevice)
    if without_libdevice and calls_libdevice(text):
        return _link(stage, parse_module(before, source.context), metadata, compiled, options, False)
    return text


def _link(
    stage: Callable[[Any, dict[str, Any]], str],
    source: Any,
    metadata: dict[str, Any],
    compiled: Sequence[CompiledFragment],
    options: Any,
    without_libdevice: bool,
) -> str:
    """Triton's own stage with the fragments among its libraries.

    The options are frozen and their cache key is made already: the fragments are in it by their own keys.
    """
    own_libraries = options.extern_libs
    # The fragments come first: of each library only those functions are linked that the ones before it call.
    libraries = {f"tle_raw_{f.entry}": str(f.path) for f in compiled}
    libraries |= {name: path for name, path in own_libraries if not (without_libdevice and name == LIBRARY)}
    object.__setattr__(options, "extern_libs", tuple(libraries.items()))
    is_whole = any(WHOLE in fragment.text for fragment in compiled)
    try:
        with for_the_gpu(source) if is_whole else nullcontext():
            return stage(source, metadata)
    finally:
        object.__setattr__(options, "extern_libs", own_libraries)
