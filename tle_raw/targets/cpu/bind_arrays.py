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
from tle_raw.targets.cpu.arrays import EXPECTED_DTYPES, HostArray, Kind, address_of, as_numpy, kind_of
from tle_raw.targets.cpu.device import WARP_SIZE

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
    target = getattr(backend, "target", None)
    return target is not None and (target.backend, target.warp_size) == ("cpu", WARP_SIZE)


def array_binder(binder: Binder, names: list[str]) -> Binder:
    """A binder that shows Triton its own kind of tensor in place of arrays, and gives the arrays back."""
    taken: set[type] = {int, float, bool, type(None), str}  # types that Triton was seen to take

    def show(values: Any, places: Any) -> tuple[Any, bool]:
        """The values as Triton shall see them, and whether any of them differs; most are of a type that it takes."""
        differs = False
        for place in places:
            value = values[place]
            if type(value) not in taken:
                shown = _shown(value, _named(place, names))
                if shown is not value:
                    values[place] = shown
                    differs = True
                elif not isinstance(value, tuple):  # what a tuple holds differs from one to the next
                    taken.add(type(value))
        return values, differs

    def bind(*args: Any, **kwargs: Any) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        shown, differ = show(list(args), range(len(args)))
        shown_by_name, differ_by_name = show(kwargs, tuple(kwargs))
        try:
            bound, specialization, options = binder(*shown, **shown_by_name)
        except (KeyError, TypeError, RuntimeError) as e:
            _explain({**dict(enumerate(args)), **kwargs}, names, e)
            raise
        if differ or differ_by_name:
            for name, value in bound.items():
                if isinstance(value, (HostArray, tuple)):
                    bound[name] = _given_back(value)
        return bound, specialization, options

    return bind


def _shown(value: Any, name: str) -> Any:
    if isinstance(value, tuple):
        shown = [_shown(element, f"{name}[{index}]") for index, element in enumerate(value)]
        if all(new is old for new, old in zip(shown, value)):
            return value
        return type(value)(*shown) if hasattr(value, "_fields") else tuple(shown)
    kind = kind_of(value)
    if kind is Kind.SCALAR:
        return value.item()
    return HostArray(as_numpy(value, name), name) if kind in (Kind.ARRAY, Kind.FOREIGN_ARRAY) else value


def _given_back(value: Any) -> Any:
    if isinstance(value, HostArray):
        return value.array
    if isinstance(value, tuple):
        given = [_given_back(element) for element in value]
        return type(value)(*given) if hasattr(value, "_fields") else tuple(given)
    return value


def _named(place: int | str, names: list[str]) -> str:
    return place if isinstance(place, str) else names[place] if place < len(names) else str(place)


def _explain(given: dict[Any, Any], names: list[str], error: Exception) -> None:
    """Raise our error for a tensor that Triton's native code does not take; it says only the name of its dtype."""
    for place, value in given.items():
        if kind_of(value) is not Kind.TENSOR:
            continue
        name, dtype = _named(place, names), str(getattr(value, "dtype", "")).rpartition(".")[2]
        if isinstance(error, KeyError) and error.args == (dtype,):
            raise LaunchError(
                f"argument `{name}`: kernels cannot read elements of this dtype",
                table=[Row("dtype", EXPECTED_DTYPES, dtype)],
            ) from error
        if isinstance(error, RuntimeError):
            address_of(value, name, written=True)
