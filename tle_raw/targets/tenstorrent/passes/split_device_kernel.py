"""Stage D, first: one body becomes three kernels, each with the loops and branches that its operations stand in.

Behind the last operation that reads a buffer's value stands that it is given back, in the kernel that empties it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tle_raw.targets.tenstorrent.blocks import Choice, Known, Repeat
from tle_raw.targets.tenstorrent.integers import lower
from tle_raw.targets.tenstorrent.ir import ROLES, For, If, Kernel, Let, Module, Role
from tle_raw.targets.tenstorrent.lifetimes import Lifetimes, key_of
from tle_raw.targets.tenstorrent.options import Options
from tle_raw.targets.tenstorrent.passes.build_tile_dfg_tt import role_of
from tle_raw.targets.tenstorrent.tiles import GiveBack


def split_device_kernel(module: Module, options: Options) -> Module:
    """The module with kernels in the body's place."""
    kernels: dict[str, Kernel] = {role: Kernel(role, body=_part(module, module.body, role)) for role in ROLES}
    attributes = {**module.attributes, "tt.kernel_role": {role: f"{role}.cpp" for role in ROLES}}
    return replace(module, body=(), kernels=kernels, attributes=attributes)


def _part(module: Module, body: tuple[Any, ...], role: Role) -> tuple[Any, ...]:
    """What one kernel does of a body."""
    found: list[Any] = []
    releases: Lifetimes = module.attributes["tt.tile_dfg"]["releases"]
    for statement in body:
        key = key_of(statement)
        found += [GiveBack(name, unread=True) for name in _own(module, releases.before.get(key, []), role)]
        found += _one(module, statement, role)
        found += [GiveBack(name) for name in _own(module, releases.after.get(key, []), role)]
    return tuple(found)


def _own(module: Module, names: list[str], role: Role) -> list[str]:
    return [name for name in names if module.circular_buffers[name].consumer == role]


def _one(module: Module, statement: Any, role: Role) -> list[Any]:
    if isinstance(statement, Known):
        return [Let(statement.name, lower(statement.value))]
    if isinstance(statement, Repeat):
        inner = _part(module, statement.body, role)
        if all(isinstance(s, Let) for s in inner):
            return []
        return [For(statement.name, lower(statement.start), lower(statement.stop), inner, statement.location)]
    if isinstance(statement, Choice):
        then, otherwise = (_part(module, arm, role) for arm in (statement.then, statement.otherwise))
        return [If(lower(statement.condition), then, otherwise, statement.location)] if then or otherwise else []
    return [statement] if role_of(statement) == role else []
