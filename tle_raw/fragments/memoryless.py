"""Says why a tensor has no memory that a kernel could read: it is a stand-in, or its memory was given back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tle_raw.errors import LaunchError, Row

# torch's own questions, on ``torch._C._functorch``, and what a tensor is that answers with yes.
_TRANSFORMS = {
    "is_functionaltensor": "a FunctionalTensor, which torch.func.functionalize passes",
    "is_batchedtensor": "a BatchedTensor, which torch.func.vmap passes",
    "is_gradtrackingtensor": "a GradTrackingTensor, which torch.func.grad, jvp and their kin pass",
}
_CALL_IT = "call the kernel outside of it, or make an operator of it with torch.library.custom_op"
_FAKE = (
    "launch kernels outside of FakeTensorMode; torch.export traces a launch with strict=True, and an operator of "
    "torch.library.triton_op or custom_op in any way"
)


def is_empty(tensor: Any) -> bool:
    """Whether a tensor has no elements, and so needs no memory; one that cannot say how many it has counts as empty."""
    base = getattr(tensor, "base", None)  # triton.reinterpret
    counted = base if base is not None and hasattr(base, "numel") else tensor
    return not hasattr(counted, "numel") or counted.numel() == 0


def without_memory(tensor: Any, name: str, cause: str = "") -> LaunchError:
    """The error for a tensor with elements and without an address."""
    what, hint = _described(getattr(tensor, "base", tensor) if not hasattr(tensor, "numel") else tensor)
    return LaunchError(
        f"argument `{name}`: the tensor has no memory" + (f": {cause.splitlines()[0]}" if cause else ""),
        table=[Row("tensor", "one whose elements lie in memory", what)],
        hint=hint,
    )


def check_memory(names: Sequence[str], values: Sequence[Any]) -> None:
    """For launches on a GPU, whose launcher takes the address of a tensor without memory, 0, for what it is.

    Raises
    ------
    LaunchError : one of torch's tensors has elements and no address.
    """
    tensor = getattr(sys.modules.get("torch"), "Tensor", ())
    try:  # half a microsecond of each launch
        for value in values:
            if isinstance(value, tensor) and not value.data_ptr():
                break
        else:
            return
    except RuntimeError:  # those without storage have no address
        pass
    for name, value in zip(names, values):
        if isinstance(value, tensor):
            _check_tensor(name, value)


def _check_tensor(name: str, tensor: Any) -> None:
    try:
        address = tensor.data_ptr()
    except RuntimeError as e:
        raise without_memory(tensor, name, str(e)) from e
    if not address and not is_empty(tensor):
        raise without_memory(tensor, name)


def _described(tensor: Any) -> tuple[str, str]:
    """What a tensor is, and what can be done about it."""
    kind = type(tensor).__name__
    if "FakeTensor" in kind:
        return "a FakeTensor, which has a shape and no elements", _FAKE
    if getattr(getattr(tensor, "device", None), "type", "") == "meta":
        return f"a {kind} on the device meta, which has a shape and no elements", ""
    transform = _transform(tensor)
    if transform:
        return transform, _CALL_IT
    layout = str(getattr(tensor, "layout", "")).removeprefix("torch.")
    if layout.startswith(("sparse", "_mkldnn", "mkldnn")):
        return f"a {kind} of layout {layout}", "tensor.to_dense() has its elements in memory"
    if _storage_bytes(tensor) == 0:
        return f"a {kind} whose storage has 0 bytes: it was freed, or never made", ""
    return f"a {kind}", ""


def _transform(tensor: Any) -> str:
    functorch = getattr(getattr(sys.modules.get("torch"), "_C", None), "_functorch", None)
    for question, answer in _TRANSFORMS.items():
        ask = getattr(functorch, question, None)
        try:
            if ask is not None and ask(tensor):
                return answer
        except (TypeError, RuntimeError):  # not one of torch's tensors
            return ""
    return ""


def _storage_bytes(tensor: Any) -> int | None:
    try:
        return int(tensor.untyped_storage().nbytes())
    except (AttributeError, RuntimeError, NotImplementedError, TypeError):
        return None
