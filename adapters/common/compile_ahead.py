"""A kernel that is one fragment, compiled for a target that need not be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.adapters.common.launched_kernel import WARP
from tle_raw.fragments.parameter_types import Descriptor
from tle_raw.fragments.signature import Signature
from tle_raw.target import Target

ALIGNED = [["tt.divisibility", 16]]  # of pointers, as those of tensors are


def compile_ahead(kernel: Any, signature: Signature, target: Target, options: Mapping[str, Any]) -> Any:
    """Triton's compiled kernel of a fragment with such a signature."""
    types = triton_types(signature)
    aligned: dict[tuple[int, ...], Any] = {
        (n,): ALIGNED for n, spelled in enumerate(types.values()) if spelled.startswith("*")
    }
    return compile_specialised(kernel, types, {}, aligned, target, options)


def compile_specialised(
    kernel: Any,
    types: Mapping[str, Any],
    constants: Mapping[tuple[int, ...], Any],
    attributes: Mapping[tuple[int, ...], Any],
    target: Target,
    options: Mapping[str, Any],
) -> Any:
    """Triton's compiled kernel, as a launch would specialise it.

    Parameters
    ----------
    types : by parameter; ``constexpr`` for those that are ``constants``.
    constants, attributes : by the argument's place, and that of an item of a tuple.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(kernel, dict(types), dict(constants), dict(attributes))
    return triton.compile(source, target=GPUTarget(target.backend, target.capability, WARP), options=dict(options))


def triton_types(signature: Signature) -> dict[str, str]:
    """Triton's spelling of the parameters' types, by name."""
    types = {}
    for parameter in signature.parameters:
        kind: Any = parameter.type  # a pointer, a scalar or a tensor descriptor
        spelled = kind.dtype.in_signature
        if isinstance(kind, Descriptor):
            spelled = f"tensordesc<{spelled}[{','.join(map(str, kind.dims))}]>"
        types[parameter.name] = f"*{spelled}" if kind.kind == "pointer" else spelled
    return types
