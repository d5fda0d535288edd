"""A fragment as a kernel of its own, compiled for a target that need not be there."""

from __future__ import annotations

from typing import Any

from tle_raw.signature import Signature


def compile_ahead(fragment: Any, backend: str, arch: int) -> Any:
    """Triton's compiled kernel; its pointers are aligned to 16 bytes, as those of tensors are."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    whole = fragment.as_kernel()
    types = triton_types(fragment.signature)
    aligned = {(n,): [["tt.divisibility", 16]] for n, spelled in enumerate(types.values()) if spelled.startswith("*")}
    source = ASTSource(whole.kernel, types, attrs=aligned)
    return triton.compile(source, target=GPUTarget(backend, arch, 32), options={"num_warps": whole.num_warps})


def triton_types(signature: Signature) -> dict[str, str]:
    """Triton's spelling of the parameters' types, by name."""
    types = {}
    for parameter in signature.parameters:
        kind: Any = parameter.type  # a pointer or a scalar
        spelled = kind.dtype.name if kind.dtype.is_integer else kind.dtype.triton
        types[parameter.name] = f"*{spelled}" if kind.kind == "pointer" else spelled
    return types
