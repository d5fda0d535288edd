"""The self-test against drift: is cuTile's typed IR, which is no public API, the one that is translated here?"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from tle_raw.errors import Row, ToolchainError

# Each operation with its operands, attributes and nested blocks.
OPERATIONS = """
assert: cond | message |
assign: value | |
assume_bounded: x | lower_bound upper_bound |
assume_div_by: x | divisor |
break: values | |
continue: values | |
end_branch: outputs | |
fma: acc lhs rhs | flush_to_zero rounding_mode |
get_array_list_item: index x | |
grid_dependency_control_launch_dependents: token | |
grid_dependency_control_wait: token | |
ifelse: cond | | then_block else_block
join_tokens: tokens | |
load_pointer: mask padding_value pointer token | latency |
loop: initial_values start step stop | | body
make_dummy: | |
make_gather_scatter_view: array | |
make_list_view: base_ptr length | |
make_partition_view: array | |
make_strided_view: array | |
make_tensor_view: base_ptr shape strides | |
make_token: | |
num_tiles: view | |
pointer_offset: offset pointer | |
raw_binary_arith: lhs rhs | flush_to_zero fn propagate_nan rounding_mode |
raw_binary_bitwise: lhs rhs | fn |
raw_bitwise_shift: lhs rhs | fn |
raw_cmp: lhs rhs | fn |
raw_fpowi: base exponent | |
raw_where: cond x y | |
store_pointer: mask pointer token value | latency |
tile_arange: | |
tile_astype: x | rounding_mode |
tile_atomic_cas: desired expected mask pointer token | memory_order memory_scope |
tile_atomic_red_view: index token update view | memory_order memory_scope mode |
tile_atomic_rmw: mask pointer token update | memory_order memory_scope mode |
tile_bid: | axis |
tile_bitcast: x | |
tile_broadcast: x | |
tile_cat: x y | axis |
tile_extract: index x | shape |
tile_insert: index value x | |
tile_load: index token view | allow_tma inbounds latency memory_order memory_scope |
tile_mma: acc x y | use_fast_acc |
tile_mma_scaled: acc x x_scale y y_scale | |
tile_num_blocks: | axis |
tile_pack: x | |
tile_permute: x | axes |
tile_printf: args token | format |
tile_reduce: xs | axis identities | body
tile_reshape: x | |
tile_scan: xs | axis identities reverse | body
tile_store: index tile token view | allow_tma inbounds latency memory_order memory_scope |
tile_unpack: x | |
typed_const: | value |
unaryop: operand | flush_to_zero fn rounding_mode |
"""
# Operations that not every release has.
NEWER = """
foreign_pointer_cast: pointer | |
"""
# Operations that no tile function comes to: a pointer of another address space, and the kernel's own return, which a
# function's end takes the place of.
UNUSED = ("address_space_cast", "reinterpret_pointer", "return")
NAMES = """
_annotated_function: get_annotated_function
_bytecode.version: BytecodeVersion
_compile: _TileTypingHooks
_coroutine_util: run_coroutine
_exception: Loc TileError
_execution: kernel
_ir.aggregate_support: flatten_block_parameters
_ir.core_ops: build_tuple loosely_typed_const
_ir.ir: Block Builder IRContext Operation Var operand
_ir.ops: tile_impl_registry
_ir.type: ArrayTy DataclassTy ListTy LooselyTypedScalar NONE TileTy TokenTy TupleTy
_ir.type: GatherScatterViewTy PartitionViewTy StridedViewTy
_memory_model: MemoryOrder MemoryScope
_numeric_semantics: PaddingMode RoundingMode
_passes.dataflow_analysis: dataflow_analysis
_passes.dce: dead_code_elimination_pass
_passes.eliminate_assign_ops: eliminate_assign_ops
_passes.for_loop_break: lower_for_with_break
_passes.hir2ir: call_function
_passes.loop_split: split_loops
_passes.rewrite_patterns: rewrite_patterns
_passes.token_order: token_order_pass
compilation: ArrayConstraint ListConstraint ScalarConstraint
"""
_MODULES = ("arithmetic_ops", "cast_ops", "control_flow_ops", "core_ops", "ops")


def check_typed_ir(version: str) -> None:
    """Compare names and operations.

    Raises
    ------
    ToolchainError : something is missing or has other fields; the table names all of it.
    """
    rows = [*_missing_names(), *_changed_operations()]
    if rows:
        raise ToolchainError(
            f"the typed IR of cuda-tile {version} is not the one that this release translates",
            table=rows,
            hint="install a version of cuda-tile that it was tested with, such as 1.7.0",
        )


def _missing_names() -> Iterator[Row]:
    for line in NAMES.strip().splitlines():
        module, _, names = line.partition(":")
        try:
            found = importlib.import_module(f"cuda.tile.{module}")
        except ImportError as e:
            yield Row(f"cuda.tile.{module}", "a module", str(e))
            continue
        for name in names.split():
            if not hasattr(found, name):
                yield Row(f"cuda.tile.{module}.{name}", "present", "missing")


def _changed_operations() -> Iterator[Row]:
    present = {kind._opcode: _fields(kind) for kind in _operation_classes()}
    newer = [line for line in NEWER.strip().splitlines() if line.partition(":")[0] in present]
    for line in [*OPERATIONS.strip().splitlines(), *newer]:
        opcode, _, fields = line.partition(":")
        expected = [part.split() for part in fields.split("|")]
        got = present.get(opcode)
        if got != expected:
            yield Row(f"operation {opcode}", _text(expected), "missing" if got is None else _text(got))


def _fields(kind: Any) -> list[list[str]]:
    return [sorted(kind._operand_names), sorted(kind._attribute_names), list(kind._nested_block_names)]


def _text(fields: list[list[str]]) -> str:
    return " | ".join(" ".join(part) or "-" for part in fields)


def _operation_classes() -> list[Any]:
    from cuda.tile._ir import ir

    for module in _MODULES:
        importlib.import_module(f"cuda.tile._ir.{module}")
    found: list[Any] = []
    waiting = list(ir.Operation.__subclasses__())
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("cuda.tile."):
            found.append(kind)
    return found
