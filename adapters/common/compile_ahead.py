"""A kernel that is one fragment, compiled for a target that need not be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.fragments.signature import Signature
from tle_raw.target import Target

WARP = 32


def compile_ahead(kernel: Any, signature: Signature, target: Target, options: Mapping[str, Any]) -> Any:
    """Triton's compiled kernel; its pointers are aligned to 16 bytes, as those of tensors are."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = triton_types(signature)
    aligned = {(n,): [["tt.divisibility", 16]] for n, spelled in enumerate(types.values()) if spelled.startswith("*")}
    return triton.compile(
        ASTSource(kernel, types, attrs=aligned),
        target=GPUTarget(target.backend, target.capability, WARP),
        options=dict(options),
    )


def triton_types(signature: Signature) -> dict[str, str]:
    """Triton's spelling of the parameters' types, by name."""
    types = {}
    for parameter in signature.parameters:
        kind: Any = parameter.type  # a pointer or a scalar
        spelled = kind.dtype.name if kind.dtype.is_integer else kind.dtype.triton
        types[parameter.name] = f"*{spelled}" if kind.kind == "pointer" else spelled
    return types
