"""Convert one module of Triton's IR to the Linalg form: the passes of ``passes.CPU`` for the stage ``linalg``."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from tle_raw.flir.compile_fragments import compile_fragments
from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.clean import clean
from tle_raw.flir.cpu.convert import (  # noqa: F401 - each registers its conversions
    async_copies,
    atomics,
    buffer_access,
    buffer_views,
    build,
    checks,
    control,
    debug,
    dot,
    elementwise,
    groups,
    inline_assembly,
    irregular,
    mbarriers,
    memory,
    partitions,
    polls,
    program,
    reach,
    reduce,
    shapes,
    tensor_cores,
    tiles,
    types,
    waits,
)
from tle_raw.flir.cpu.convert.descriptors import take_loads_away
from tle_raw.flir.cpu.convert.functions import add_function, is_public
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.launch import add_launch
from tle_raw.flir.cpu.convert.local_memories import check_local_memories
from tle_raw.flir.cpu.convert.memory_of_assembly import uses_memory
from tle_raw.flir.cpu.convert.plan import analyse, walk
from tle_raw.flir.cpu.convert.regions import Regions
from tle_raw.flir.cpu.module_text import text_of
from tle_raw.flir.cpu.passes import CPU
from tle_raw.flir.cpu.read_ttir import read_ttir
from tle_raw.flir.cpu.structure_control_flow import structure_control_flow
from tle_raw.flir.exact_block import exact_block
from tle_raw.flir.print_after import with_locations
from tle_raw.flir.run_stage import run_stage
from tle_raw.regions.cluster_launch import cluster_dims
from tle_raw.regions.clusters import DIMS, METADATA
from tle_raw.target import Target


def convert(module: Any, metadata: dict[str, Any], options: Any) -> str:
    """A module of Triton's (after its ``ttir`` stage) as text in the Linalg form.

    ``metadata`` receives ``name`` (the kernel's), ``checks``, and whether its programs ``may_wait`` for each other.

    Raises
    ------
    LoweringError : the kernel uses what CPUs have no lowering for; the error names it and the kernel's line.
    """
    with ExitStack() as contexts:
        conversion = Conversion(module, metadata, options, contexts)
        run_stage(CPU, "linalg", conversion)
        return text_of(conversion.module)


class Conversion:
    """One module on its way to the Linalg form, with a method for each pass: see ``run_stage``.

    ``contexts`` receives MLIR's, as soon as it has the module.
    """

    def __init__(self, module: Any, metadata: dict[str, Any], options: Any, contexts: ExitStack) -> None:
        self.module, self.metadata, self.options, self._contexts = module, metadata, options, contexts

    def text(self) -> str:
        return with_locations(self.module)

    def read_ttir(self) -> int:
        self.module = read_ttir(self.module)
        self._contexts.enter_context(self.module.context)
        self._contexts.enter_context(mlir().Location.unknown())
        return 1

    def structure_control_flow(self) -> int | None:
        return 1 if structure_control_flow(self.module) else None

    def compile_fragments(self) -> int | None:
        self.regions = Regions(self.module)
        if not self.regions.records:
            return None
        self.regions.set_compiled(compile_fragments(self.regions.records, Target("cpu")))
        self.regions.describe(self.metadata)
        return 1

    def exact_block(self) -> int:
        # The text is made only where a block is odd.
        self.regions.threads = exact_block(map(str, [self.module.operation]), self.regions.blocks)
        return 1

    def convert_to_linalg(self) -> int:
        self.module = convert_to_linalg(self.module, self.regions, self.metadata, self.options)
        return 1

    def clean(self) -> int:
        clean(self.module)
        return 1


def convert_to_linalg(source: Any, regions: Regions, metadata: dict[str, Any], options: Any) -> Any:
    """A new module in the Linalg form, in the context of ``source``; as it was made, not verified."""
    tiles.reset_parts()
    new = mlir().Module.create()
    functions = {_name(f.operation): f.operation for f in source.body.operations}
    entry = next(f for f in functions.values() if is_public(f))
    metadata["name"] = _name(entry)
    kernel = _convert_function(new, entry, functions, regions, options)
    metadata["checks"], metadata["may_wait"] = kernel.checks, kernel.may_wait
    if kernel.libraries:
        metadata["libraries"] = list(dict.fromkeys((*metadata.get("libraries", ()), *kernel.libraries)))
    if kernel.groups:
        metadata[METADATA] = kernel.groups
        metadata[DIMS] = cluster_dims(kernel.groups)
    metadata["watches"] = kernel.watches
    if kernel.checks or kernel.helpers:
        waiting = kernel.may_wait and any(check["kind"] == "standstill" for check in kernel.checks)
        debug = checks.INSIDE if options.debug_checks else ""
        _add_helpers(
            new, checks.FUNCTIONS + debug + (waits.FUNCTION if waiting else "") + "".join(sorted(kernel.helpers))
        )
    return new


def _name(function: Any) -> str:
    return str(function.attributes["sym_name"].value)


def _convert_function(new: Any, function: Any, functions: dict[str, Any], regions: Regions, options: Any) -> Kernel:
    source = function.regions[0].blocks[0]
    arguments = [types.computed(a.type) for a in source.arguments]
    kernel_function, inputs = add_function(new.body, _name(function), arguments)
    for each in functions.values():
        take_loads_away(each)
    plan = analyse(function)
    for name, other in functions.items():
        if name != _name(function):
            plan.add(analyse(other))
    with build.block(kernel_function.regions[0], inputs) as entry:
        *values, x, y, z, grid_x, grid_y, grid_z, _small, _scratch, context = entry.arguments
        kernel = Kernel(entry, plan, (x, y, z), (grid_x, grid_y, grid_z), context, debug=bool(options.debug_checks))
        kernel.functions, kernel.regions, kernel.num_warps = functions, regions, options.num_warps
        kernel.groups = groups.describe(op for each in functions.values() for op in walk(each.regions[0]))
        if kernel.groups:
            regions.check_clusters(cluster_dims(kernel.groups))
        kernel.watches = (
            kernel.debug
            and bool(options.watch_races or kernel.groups)
            and not regions.records
            and not any(  # accesses that nobody sees
                op.name == "tt.elementwise_inline_asm" and uses_memory(op)
                for each in functions.values()
                for op in walk(each.regions[0])
            )
        )
        kernel.first_reach = reach.first_reach(source)
        if kernel.groups:  # others write to this program's memory
            del kernel_function.attributes["arg_attrs"]
        kernel.values.update(zip(source.arguments, values))
        kernel.convert_block(source)
        build.create("func.return")
    if kernel.local_allocations:
        check_local_memories(kernel)
    add_launch(new, _name(function), arguments, kernel.may_wait)
    return kernel


def _add_helpers(module: Any, functions: str) -> None:
    """Put more functions, given as text, into the module."""
    parsed = mlir().Module.parse(functions)
    for function in parsed.body.operations:
        module.body.append(function.operation.clone())
