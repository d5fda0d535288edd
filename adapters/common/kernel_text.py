"""Triton kernels from text that this package writes: Triton reads a kernel's source, and there is no file behind it."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from typing import Any

from tle_raw.identity import digest


def kernel_of_text(
    name: str, text: str, scope: Mapping[str, Any], keys: Sequence[str], unspecialised: Sequence[str] = ()
) -> Any:
    """The ``@triton.jit`` function ``name`` that ``text`` defines.

    Parameters
    ----------
    scope : what the text names, beside Triton's language as ``tl``.
    keys : what tells this text from equal ones in other scopes: the keys of the fragments that it calls.
    unspecialised : the parameters of whose values Triton makes nothing.
    """
    import triton

    file = f"<tle_raw {name} {digest(*keys, text)[:12]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    found: dict[str, Any] = {**scope, "tl": triton.language, "__name__": "tle_raw.whole_kernels"}
    exec(compile(text, file, "exec", dont_inherit=True), found)  # annotations are no text of this module's kind
    return triton.jit(found[name], do_not_specialize=list(unspecialised)) if unspecialised else triton.jit(found[name])
