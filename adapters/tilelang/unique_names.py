"""Scalar parameters with names of their own: TileLang gives one the name under which the body binds it again.

``alpha = alpha_pre`` and later ``alpha = alpha_post`` leave two parameters called ``alpha``.
"""

from __future__ import annotations

import inspect
from typing import Any

from tle_raw.adapters.tilelang.tir_types import PrimFunc


def with_unique_names(prim_func: PrimFunc) -> Any:
    """The PrimFunc, where two of its parameters share a name with the names of the function that it was made from."""
    from tvm.tirx import PrimFunc as Made
    from tvm.tirx import Var
    from tvm.tirx.stmt_functor import substitute

    buffers = [prim_func.buffer_map.get(parameter, None) for parameter in prim_func.params]
    names = [str((buffer or parameter).name) for buffer, parameter in zip(buffers, prim_func.params)]
    if len(set(names)) == len(names):
        return prim_func
    own = _names_of(prim_func)
    taken: set[str] = {name for name, buffer in zip(names, buffers) if buffer is not None}
    parameters, renamed = [], {}
    for number, (parameter, buffer, name) in enumerate(zip(prim_func.params, buffers, names)):
        if buffer is None and (names.count(name) > 1 or name in taken):
            wanted = own[number] if len(own) == len(names) and own[number] not in taken else f"{name}_{number}"
            renamed[parameter] = Var(wanted, parameter.dtype)
            name = wanted
        taken.add(name)
        parameters.append(renamed.get(parameter, parameter))
    body = substitute(prim_func.body, renamed)
    return Made(parameters, body, prim_func.ret_type, dict(prim_func.buffer_map), prim_func.attrs)


def _names_of(prim_func: PrimFunc) -> list[str]:
    """The parameters of the user's own function."""
    function = getattr(prim_func, "orig_func", None)
    return list(inspect.signature(function).parameters) if inspect.isfunction(function) else []
