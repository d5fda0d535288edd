"""TileLang's kernels run on the CPU, and compile for a GPU without one; nothing runs where TileLang is missing."""

import importlib.util
from typing import Any

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("tilelang") and importlib.util.find_spec("torch") else ["test_*"]


@pytest.fixture
def on_cpu():
    """Launches of this test run on the CPU."""
    import tle_raw

    with tle_raw.knobs.scope():
        tle_raw.knobs.target = "cpu"
        yield


def compile_for_gpu(fragment: Any, capability: int = 90, **options: Any) -> Any:
    """A fragment as a kernel of its own, compiled to machine code; pointers are aligned as launches find them."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    whole = fragment.as_kernel()
    signature, attributes = {}, {}
    for number, parameter in enumerate(fragment.signature.parameters):
        is_pointer = parameter.type.kind == "pointer"
        dtype = parameter.type.dtype
        name = dtype.name if dtype.is_integer else dtype.triton
        signature[parameter.name] = f"*{name}" if is_pointer else name
        if is_pointer:
            attributes[(number,)] = [["tt.divisibility", 16]]
    source = ASTSource(whole.kernel, signature, attrs=attributes)
    target = GPUTarget("cuda", capability, 32)
    return triton.compile(source, target=target, options={"num_warps": whole.num_warps, **options})
