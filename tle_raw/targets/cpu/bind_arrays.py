"""Lets kernels take NumPy arrays, and whatever speaks DLPack, on the CPU.

Triton asks each argument for ``data_ptr`` and ``dtype`` in native code, which a backend cannot join. What binds a
kernel's arguments is made once per kernel and device by a function of Triton's; for the CPU its result is wrapped
here. For other devices nothing changes, and nothing is run at a launch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from triton.runtime import jit

from tle_raw.errors import LaunchError, Row
from tle_raw.targets.cpu.arrays import EXPECTED_DTYPES, HostArray, as_numpy, is_array

Binder = Callable[..., tuple[dict[str, Any], list[Any], dict[str, Any]]]


def bind_arrays() -> None:
    """Wrap Triton's maker of binders. Idempotent."""
    make = jit.create_function_from_signature
    if getattr(make, "binds_arrays", False):
        return

    @wraps(make)
    def make_binder(signature: Any, parameters: Any, backend: Any) -> Binder:
        binder: Binder = make(signature, parameters, backend)
        return array_binder(binder, list(signature.parameters)) if _is_ours(backend) else binder

    make_binder.binds_arrays = True  # type: ignore[attr-defined]
    jit.create_function_from_signature = make_binder


def _is_ours(backend: Any) -> bool:
    from tle_raw.targets.cpu.compiler import CpuBackend

    return isinstance(backend, CpuBackend)


def array_binder(binder: Binder, names: list[str]) -> Binder:
    """A binder that shows Triton its own kind of tensor in place of arrays, and gives the arrays back."""
    taken: set[type] = {int, float, bool, type(None), str}  # types that Triton was seen to take

    def bind(*args: Any, **kwargs: Any) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        try:
            for value in (*args, *kwargs.values()):
                if type(value) not in taken:
                    return bind_shown(args, kwargs)
            return binder(*args, **kwargs)
        except (KeyError, TypeError) as e:
            _explain({**dict(enumerate(args)), **kwargs}, names, e)
            raise

    def bind_shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        shown = [_shown(value, _named(index, names)) for index, value in enumerate(args)]
        shown_by_name = {name: _shown(value, _named(name, names)) for name, value in kwargs.items()}
        bound, specialization, options = binder(*shown, **shown_by_name)
        for before, after in ((args, shown), (kwargs.values(), shown_by_name.values())):
            # What a tuple holds differs from one to the next.
            taken.update(type(old) for old, new in zip(before, after) if new is old and not isinstance(old, tuple))
        return {name: _given_back(value) for name, value in bound.items()}, specialization, options

    return bind


def _shown(value: Any, what: str) -> Any:
    if isinstance(value, tuple):
        shown = [_shown(element, f"{what}[{index}]") for index, element in enumerate(value)]
        if all(new is old for new, old in zip(shown, value)):
            return value
        return type(value)(*shown) if hasattr(value, "_fields") else tuple(shown)
    if not is_array(value):
        return value
    array = as_numpy(value, what)
    # A scalar of NumPy's, such as numpy.int32(5), is an array of rank 0 to everybody else.
    return array.item() if not hasattr(array, "ctypes") and hasattr(array, "item") else HostArray(array, what)


def _given_back(value: Any) -> Any:
    if isinstance(value, HostArray):
        return value.array
    if isinstance(value, tuple):
        given = [_given_back(element) for element in value]
        return type(value)(*given) if hasattr(value, "_fields") else tuple(given)
    return value


def _named(place: int | str, names: list[str]) -> str:
    name = place if isinstance(place, str) else names[place] if place < len(names) else str(place)
    return f"argument `{name}`"


def _explain(given: dict[Any, Any], names: list[str], error: Exception) -> None:
    """Triton's native code says only the name of a dtype that it does not know."""
    for place, value in given.items():
        dtype = str(getattr(value, "dtype", "")).rpartition(".")[2]
        if hasattr(value, "data_ptr") and isinstance(error, KeyError) and error.args == (dtype,):
            raise LaunchError(
                f"{_named(place, names)}: kernels cannot read elements of this dtype",
                table=[Row("dtype", EXPECTED_DTYPES, dtype)],
            ) from error
