"""``tt.plan.json``: which core computes which blocks of the outputs, and how every array lies in memory.

Required are ``schema_version``, ``core_grid`` [x, y], ``core_ranges`` [{``start``, ``extent``}], ``work_partition``
{"(x,y)": [{``io``, ``jo``, ``len_k``, ``tile_order``}]} and ``layouts``. Other fields are allowed; of these, plans made
here have ``kernel``, ``api_release``, ``grid`` ([x, y, z] of the launch, by which coverage is checked), ``batch`` in
work items, ``circular_buffers``, and ``runtime_args`` of each core.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tle_raw.errors import Row, TLEError
from tle_raw.targets.tenstorrent.core_ranges import CoreRange, core_ranges
from tle_raw.targets.tenstorrent.ir import Module, WorkItem

FILE = "tt.plan.json"
SCHEMA_VERSION = 1
TILE_ORDERS = ("row_major", "match_shard", "block_linear")
_CORE = re.compile(r"\((0|[1-9]\d*),(0|[1-9]\d*)\)")


class PlanError(TLEError):
    """A plan that does not say what it must, or assigns work twice or not at all."""


@dataclass(frozen=True)
class Plan:
    """A plan that was checked.

    Attributes
    ----------
    work_partition : the work items of each core (x, y).
    layouts : of each array, free form.
    grid : the extents of the launch, x, y, z, where the plan has them.
    extra : all other fields, as they stand in the file.
    """

    core_grid: tuple[int, int]
    core_ranges: tuple[CoreRange, ...]
    work_partition: Mapping[tuple[int, int], tuple[WorkItem, ...]]
    layouts: Mapping[str, Mapping[str, Any]]
    grid: tuple[int, int, int] | None = None
    schema_version: int = SCHEMA_VERSION
    backend_version: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def plan_of(module: Module, *, release: str, backend_version: str | None = None) -> Plan:
    """The plan of a program in its final form.

    Raises
    ------
    PlanError : its cores compute a block twice, or not at all.
    """
    work = {(core.x, core.y): core.items for core in module.cores}
    plan = Plan(
        module.core_grid,
        tuple(core_ranges(work)),
        work,
        {tensor.name: _layout(tensor) for tensor in module.tensors.values()},
        module.grid,
        backend_version=backend_version,
        extra={
            "kernel": module.name,
            "api_release": release,
            "circular_buffers": {buffer.name: _queue(buffer) for buffer in module.circular_buffers.values()},
            "runtime_args": {_key((core.x, core.y)): dict(core.values) for core in module.cores},
        },
    )
    _check(plan, FILE)
    return plan


def write_plan(plan: Plan) -> str:
    """The text of the file; the same plan gives the same bytes."""
    fields: dict[str, Any] = {"schema_version": plan.schema_version}
    if plan.backend_version is not None:
        fields["backend_version"] = plan.backend_version
    fields["core_grid"] = list(plan.core_grid)
    fields["core_ranges"] = [{"start": list(each.start), "extent": list(each.extent)} for each in plan.core_ranges]
    if plan.grid is not None:
        fields["grid"] = list(plan.grid)
    fields["work_partition"] = {
        _key(core): [vars(item) for item in items] for core, items in plan.work_partition.items()
    }
    fields["layouts"] = plan.layouts
    return _lines({**fields, **plan.extra}) + "\n"


def read_plan(text: str, file: str = FILE) -> Plan:
    """The plan that a file holds.

    Parameters
    ----------
    file : its name, for errors.

    Raises
    ------
    PlanError : it is no JSON object, a field is missing or of another form, or the work is not done exactly once.
    """
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise PlanError(f"{file} is not JSON: {error}") from None
    of = _Fields(file, fields, "")
    known = ("schema_version", "backend_version", "core_grid", "core_ranges", "grid", "work_partition", "layouts")
    plan = Plan(
        of.pair("core_grid", least=1),
        tuple(
            CoreRange(each.pair("start", least=0), each.pair("extent", least=1)) for each in of.objects("core_ranges")
        ),
        dict(_work(of)),
        {name: each.fields for name, each in of.members("layouts")},
        of.numbers("grid", 3, least=1) if "grid" in of.fields else None,  # type: ignore[arg-type]
        of.number("schema_version", least=1),
        of.text("backend_version") if "backend_version" in of.fields else None,
        {name: value for name, value in of.fields.items() if name not in known},
    )
    _check(plan, file)
    return plan


def _layout(tensor: Any) -> dict[str, Any]:
    shard = None if tensor.shard is None else list(tensor.shard)
    return {
        "memory": tensor.memory,
        "layout": tensor.layout,
        "tile_shape": [32, 32],
        "dtype": tensor.data_format,
        "nd_shard": shard,
        "shape": list(tensor.shape),
        "direction": tensor.direction,
    }


def _queue(buffer: Any) -> dict[str, Any]:
    return {
        "cb_id": buffer.number,
        "page_size": buffer.page_bytes,
        "depth": buffer.capacity,
        "data_format": buffer.data_format,
    }


def _key(core: tuple[int, int]) -> str:
    return f"({core[0]},{core[1]})"


def _lines(fields: dict[str, Any]) -> str:
    """JSON with a line for each member of a member: a plan of 64 cores is read by people."""
    parts = []
    for name, value in fields.items():
        if isinstance(value, Mapping) and value:
            inside = ",\n".join(f"    {json.dumps(key)}: {json.dumps(each)}" for key, each in value.items())
            parts.append(f"  {json.dumps(name)}: {{\n{inside}\n  }}")
        else:
            parts.append(f"  {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}"


def _work(of: _Fields) -> Iterator[tuple[tuple[int, int], tuple[WorkItem, ...]]]:
    for key in of.object("work_partition").fields:
        core = _CORE.fullmatch(key)
        if not core:
            raise of.wrong(f"work_partition.{key}", 'a core as "(x,y)"', key)
        items = of.object("work_partition").objects(key)
        yield (int(core[1]), int(core[2])), tuple(_item(each) for each in items)


def _item(of: _Fields) -> WorkItem:
    length = of.fields.get("len_k")
    order = of.fields.get("tile_order")
    if order is not None and order not in TILE_ORDERS:
        raise of.wrong("tile_order", " or ".join(TILE_ORDERS), order)
    return WorkItem(
        of.number("io", least=0),
        of.number("jo", least=0),
        of.number("batch", least=0) if "batch" in of.fields else 0,
        None if length is None else of.number("len_k", least=0),
        order,
    )


def _check(plan: Plan, file: str) -> None:
    """What the fields have to say together."""
    width, height = plan.core_grid
    named: set[tuple[int, int]] = set()
    for index, each in enumerate(plan.core_ranges):
        if each.last[0] >= width or each.last[1] >= height:
            place = f"core_ranges[{index}]"
            raise _wrong(file, place, f"cores within {width} x {height}", f"{each.start} to {each.last}")
        named.update(each.cores())
    for core in plan.work_partition:
        if core not in named:
            raise _wrong(file, f"work_partition.{_key(core)}", "a core of core_ranges", "no such core")
    _check_coverage(plan, file)


def _check_coverage(plan: Plan, file: str) -> None:
    """Every block of the outputs is computed by one core, once."""
    by: dict[tuple[int, int, int], tuple[int, int]] = {}
    for core, items in plan.work_partition.items():
        for item in items:
            block = (item.batch, item.io, item.jo)
            if block in by:
                place = f"work_partition.{_key(core)}"
                raise _wrong(file, place, f"block {block} once", f"it is work of {_key(by[block])} as well")
            if plan.grid is not None and not all(at < extent for at, extent in zip(block, reversed(plan.grid))):
                expected = f"a block (batch, io, jo) within {tuple(reversed(plan.grid))}"
                raise _wrong(file, f"work_partition.{_key(core)}", expected, str(block))
            by[block] = core
    if plan.grid is not None:
        x, y, z = plan.grid
        missing = x * y * z - len(by)
        if missing:
            first = next((b, i, j) for b in range(z) for i in range(y) for j in range(x) if (b, i, j) not in by)
            expected = f"all {x * y * z} blocks of the grid"
            raise _wrong(file, "work_partition", expected, f"{missing} are missing, the first is {first}")


def _wrong(file: str, place: str, expected: str, got: object) -> PlanError:
    return PlanError(f"{file}: wrong value of `{place}`", table=[Row(place, expected, str(got))])


class _Fields:
    """The fields of a JSON object, each read as what it must be."""

    def __init__(self, file: str, fields: Any, place: str) -> None:
        self.file, self.place = file, place
        if not isinstance(fields, dict):
            raise _wrong(file, place or "the whole file", "an object", type(fields).__name__)
        self.fields: dict[str, Any] = fields

    def wrong(self, key: str, expected: str, got: object) -> PlanError:
        return _wrong(self.file, self._place(key), expected, got)

    def _place(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def _value(self, key: str, kind: type, expected: str) -> Any:
        if key not in self.fields:
            raise self.wrong(key, expected, "nothing: the field is required")
        value = self.fields[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(key, expected, json.dumps(value))
        return value

    def number(self, key: str, *, least: int) -> int:
        expected = f"an integer, {least} or more"
        value: int = self._value(key, int, expected)
        if value < least:
            raise self.wrong(key, expected, value)
        return value

    def text(self, key: str) -> str:
        return str(self._value(key, str, "a string"))

    def numbers(self, key: str, count: int, *, least: int) -> tuple[int, ...]:
        expected = f"{count} integers, {least} or more"
        value = self._value(key, list, expected)
        if len(value) != count or any(type(each) is not int or each < least for each in value):
            raise self.wrong(key, expected, json.dumps(value))
        return tuple(value)

    def pair(self, key: str, *, least: int) -> tuple[int, int]:
        x, y = self.numbers(key, 2, least=least)
        return x, y

    def object(self, key: str) -> _Fields:
        return _Fields(self.file, self._value(key, dict, "an object"), self._place(key))

    def members(self, key: str) -> list[tuple[str, _Fields]]:
        inside = self.object(key)
        return [(name, inside.object(name)) for name in inside.fields]

    def objects(self, key: str) -> list[_Fields]:
        value = self._value(key, list, "a list of objects")
        return [_Fields(self.file, each, f"{self._place(key)}[{index}]") for index, each in enumerate(value)]
