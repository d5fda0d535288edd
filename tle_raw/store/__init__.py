"""The only cache on disk: compiled fragments, the thread block's runtime, precompiled headers, pieces of libraries
that are packed, and the folders of header links.

A cache must never be the reason why a kernel does not run. What is damaged counts as absent and is made again; a
folder that cannot be written, or that others can change, is replaced by a private temporary one, and that by files in
memory, with one warning.

    <root>/fragments    texts by key: what adapters compiled, and prototypes
    <root>/team         texts by key: the runtime of fragments on the CPU
    <root>/headers      CUDA's headers as clang has read them, by compiler and architecture
    <root>/lots         what `tle-raw pack` has compiled: the pieces of code of one run of the compiler
    <root>/links        folders of links: CUDA headers, laid out as clang wants them
"""

from __future__ import annotations

from tle_raw.store.cache import Cache
from tle_raw.store.entries import Entry, Stored
from tle_raw.store.fallback import CacheWarning
from tle_raw.store.links import LinkFolders
from tle_raw.store.shipped import shipped_entry, shipping_packages
from tle_raw.store.texts import FRAGMENTS, HEADERS, LOTS, RUNTIMES, Store

__all__ = [
    "FRAGMENTS",
    "HEADERS",
    "LOTS",
    "RUNTIMES",
    "Cache",
    "CacheWarning",
    "Entry",
    "LinkFolders",
    "Store",
    "Stored",
    "shipped_entry",
    "shipping_packages",
]
