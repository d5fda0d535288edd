"""Both sides of a comparison, as machine code for one GPU: tle_raw's kernel, and nvcc's of the same source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuda_sweep.against_nvcc import Asked, compile_asked, noting
from cuda_sweep.kernels import Listed

LIMIT = 600.0  # seconds for one call of nvcc


def compile_ours(kernel: Listed, root: Path, target: str, shared: int, ask: bool = False) -> tuple[Any, Asked | None]:
    """Triton's compiled kernel, and what clang was given; with ``ask`` it is, whatever caches have."""
    import triton

    import tle_raw

    if ask:
        tle_raw.knobs.cache.enabled, triton.knobs.compilation.always_compile = False, True
    with noting() as asked:
        compiled = _whole(kernel, root, shared).compile(target)
    return compiled, asked if asked.unit else None


def _whole(kernel: Listed, root: Path, shared: int) -> Any:
    import tle_raw

    fragment = tle_raw.fragment(
        root / kernel.file, dialect="cuda", symbol=kernel.symbol, include_dirs=kernel.folders(root)
    )
    return fragment.as_kernel(block=kernel.block, shared=shared)


def described(kernel: Listed, root: Path, compiled: Any) -> dict[str, Any]:
    """What a launch of the machine code must know: the parameters, and what Triton says of its kernel."""
    from tle_raw.fragments.signature import StructParameter
    from tle_raw.fragments.structs import Address, leaves

    parameters: list[dict[str, Any]] = []
    for parameter in _whole(kernel, root, 0).signature.own:
        if not isinstance(parameter, StructParameter):
            kind: Any = parameter.type
            parameters.append({"name": parameter.name, "kind": kind.kind, "dtype": kind.dtype.name})
            continue
        held = [
            [".".join(leaf.path), leaf.offset, "*" * isinstance(leaf.type, Address) + leaf.type.dtype.name]
            for leaf in leaves(parameter.type)
        ]
        parameters.append({"name": parameter.name, "size": parameter.type.size, "leaves": held})
    metadata = compiled.metadata
    ours = {"name": metadata.name, "shared": metadata.shared, "warps": metadata.num_warps}
    return {"params": parameters, "ours": ours}


def compile_theirs(asked: Asked, root: Path, folder: Path, nvcc: str) -> bytes:
    """nvcc's machine code of the one kernel, made in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    return compile_asked(asked, root, nvcc, LIMIT, folder)
