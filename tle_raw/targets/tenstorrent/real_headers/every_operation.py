"""A reader and a compute kernel that call each operation of a release's table once: whether the vendor has them so."""

from __future__ import annotations

from tle_raw.targets.tenstorrent.kernel_api import OPERATIONS, Operation, Release, Unit
from tle_raw.targets.tenstorrent.real_headers.check import Trio

_BUFFERS = {
    "in0": "tt::CBIndex::c_0",
    "in1": "tt::CBIndex::c_1",
    "scaler": "tt::CBIndex::c_2",
    "out": "tt::CBIndex::c_16",
}
_VALUES = {
    **_BUFFERS,
    **dict.fromkeys(("tile", "tile0", "tile1", "tile_scaler", "tile_out"), "0"),
    **{f"dst{end}": str(index) for index, end in enumerate(("", "0", "1", "2", "_out"))},
    **dict.fromkeys(("value", "low", "high"), "0x3f800000u"),
    "number": "1.0f",
    "integer": "1",
    "count": "1",
    "relu": "ReluConfig::zero()",
    "tensor": "tensor",
    "address": "address",
    "noc_address": "noc_address",
    "semaphore": "semaphore",
}
_TEMPLATES = {
    "source_order": "SrcOrder::Reverse",
    "side": "EltwiseBinaryReuseDestType::DEST_TO_SRCA",
    "broadcast": "BroadcastType::ROW",
    "pool": "PoolType::SUM",
    "dimension": "ReduceDim::REDUCE_ROW",
    "format": "DataFormat::Int32",
    "from_format": "static_cast<uint32_t>(DataFormat::Float32)",
    "to_format": "static_cast<uint32_t>(DataFormat::Int32)",
    "out_of_order": "false",
}
_READER_START = """\
    const uint32_t address = get_write_ptr(tt::CBIndex::c_0);
    const uint64_t noc_address = get_noc_addr(1, 1, address);
    volatile tt_l1_ptr uint32_t* semaphore = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
    constexpr auto words = TensorAccessorArgs<0>();
    const auto tensor = TensorAccessor(words, get_arg_val<uint32_t>(0), 2048);
"""


def every_operation(release: Release) -> Trio:
    """The two kernels, as far as the release has the operations."""
    known = [each for each in OPERATIONS.values() if release.has(each.name)]
    compute = [each for each in known if each.unit is not Unit.DATAFLOW]
    moving = [each for each in known if each.unit in (Unit.DATAFLOW, Unit.BUFFERS)]
    sources = {"compute": _kernel(compute, release, compute=True), "reader": _kernel(moving, release, compute=False)}
    formats = dict.fromkeys((0, 1, 2, 16), "Float16_b")
    return Trio(sources, {"reader": (2, 2048)}, formats)


def _kernel(operations: list[Operation], release: Release, *, compute: bool) -> str:
    headers = sorted({release.header(each.name, compute=compute) for each in operations})
    lines = ["#include <cstdint>", *(f'#include "{header}"' for header in headers), "void kernel_main() {"]
    text = "\n".join(lines) + "\n" + ("" if compute else _READER_START)
    for each in operations:
        arguments = [_VALUES[parameter] for parameter in each.parameters]
        templates = [_TEMPLATES[parameter] for parameter in each.templates]
        text += f"    {release.spell(each.name, arguments, templates)};\n"
    return text + "}\n"
