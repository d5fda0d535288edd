"""CUDA's atomic functions order nothing, and clang's do: what that costs is taken off them.

``atomicAdd`` is relaxed, and atomic for the threads of the GPU. Clang makes sequentially consistent operations of its
builtins, for the threads of the whole system. LLVM as Triton 3.9 has it writes what they say: a fence of the system in
front of each one (``fence.sc.sys``), also of those on shared memory. That of Triton 3.6 does so for ``atomicCAS``.

Whoever writes Clang's ordered builtins (``__atomic_fetch_add``) means the order: then all is left as it is.
"""

from __future__ import annotations

import re

_ORDERED_BY_USER = re.compile(r"__(?:(?:c11_|scoped_|hip_)?atomic|sync)_\w+\s*\(")
_OPERATION = re.compile(r"^[^;\n]* = (?:atomicrmw|cmpxchg) [^\n]*?(?= seq_cst(?: seq_cst)?,)(?P<order> [a-z_ ]+)", re.M)


def relaxed_atomics(text: str, source: str) -> str:
    """The LLVM IR with relaxed atomic operations of the GPU, unless the source asks for an order."""
    if " seq_cst" not in text or _ORDERED_BY_USER.search(source):
        return text
    return _OPERATION.sub(_relaxed, text)


def _relaxed(operation: re.Match[str]) -> str:
    before = operation.string[operation.start() : operation.start("order")]
    return f'{before} syncscope("device"){operation["order"].replace("seq_cst", "monotonic")}'
