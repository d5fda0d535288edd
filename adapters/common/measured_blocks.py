"""Of several blocks the fastest, by Triton's autotuner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.adapters.common.launch_blocks import Block, warps_of

CHOICE = "BLOCK"  # the compile-time parameter that counts the blocks


def choose_fastest(kernel: Any, blocks: Sequence[Block], key: Sequence[str], written: Sequence[str]) -> Any:
    """The kernel under an autotuner, which runs it with each block once for each value of the arguments ``key``.

    Parameters
    ----------
    written : the arguments whose arrays are put back after each of these runs.
    """
    import triton

    memory = _Memory(written)
    configs = [triton.Config({CHOICE: i}, num_warps=warps_of(block)) for i, block in enumerate(blocks)]
    return triton.autotune(configs, list(key), pre_hook=memory.keep, post_hook=memory.restore)(kernel)


class _Memory:
    """What a kernel writes is put back after each run that only measures it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._kept: dict[str, Any] = {}

    def keep(self, arguments: Mapping[str, Any], reset_only: bool = False) -> None:
        if not reset_only:
            self._kept = {name: _copy(arguments[name]) for name in self._names}

    def restore(self, arguments: Mapping[str, Any], exception: Any) -> None:
        for name, kept in self._kept.items():
            arguments[name][...] = kept
        self._kept = {}


def _copy(array: Any) -> Any:
    return array.clone() if hasattr(array, "clone") else array.copy()
