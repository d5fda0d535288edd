"""Where encoded TMA descriptors lie in a GPU's memory, so that a launch only passes their address.

A descriptor is written once and never changed while a kernel may read it: pages of many fill up, and a full set of
pages is dropped only after the device is idle. What a CUDA graph has captured stays for good.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from tle_raw.adapters.tilelang.linked.descriptors import BYTES
from tle_raw.errors import LaunchError
from tle_raw.thread_lock import ThreadLock

_PAGE = 512  # descriptors
_PAGES = 32  # of one device, before they are given up together


class DescriptorMemory:
    """The descriptors of one device."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._lock = ThreadLock()
        self._pages: list[Any] = []
        self._kept: list[Any] = []  # pages whose descriptors a graph may hold
        self._used = _PAGE
        self._known: dict[Hashable, Any] = {}

    def find(self, key: Hashable, encode: Callable[[], list[bytes]]) -> Any:
        """The memory of the descriptors under ``key``: a torch array of bytes. ``encode`` makes them when it is new.

        Raises
        ------
        LaunchError : they are new while a CUDA graph is captured.
        """
        import torch

        with self._lock:
            found = self._known.get(key)
            capturing = torch.cuda.is_current_stream_capturing()
            if found is None:
                if capturing:
                    raise LaunchError(
                        "new TMA descriptors cannot be written while a CUDA graph is captured",
                        hint="launch once with the same arrays before the capture",
                    )
                found = self._known[key] = self._write(encode())
            if capturing and not any(page is found[0] for page in self._kept):
                self._kept.append(found[0])
            return found[1]

    def _write(self, descriptors: list[bytes]) -> tuple[Any, Any]:
        import torch

        if self._used + len(descriptors) > _PAGE:
            self._add_page(torch)
        page, start = self._pages[-1], self._used * BYTES
        self._used += len(descriptors)
        part = page[start : start + BYTES * len(descriptors)]
        # From pageable memory: the call returns when the bytes are there, so that every stream sees them.
        part.copy_(torch.frombuffer(bytearray(b"".join(descriptors)), dtype=torch.uint8))
        torch.cuda.current_stream(self._device).synchronize()
        return page, part

    def _add_page(self, torch: Any) -> None:
        if len(self._pages) >= _PAGES:
            torch.cuda.synchronize(self._device)
            self._known.clear()
            self._pages.clear()
        self._pages.append(torch.empty(_PAGE * BYTES, dtype=torch.uint8, device=self._device))
        self._used = 0


_MEMORIES: dict[Any, DescriptorMemory] = {}


def descriptor_memory(device: Any) -> DescriptorMemory:
    """That of a torch device."""
    return _MEMORIES.setdefault(device, DescriptorMemory(device))
