"""Convert one module of Triton's IR to the Linalg form."""

from __future__ import annotations

from typing import Any

from tle_raw.flir.cpu.bindings import mlir
from tle_raw.flir.cpu.convert import (  # noqa: F401 - each registers its conversions
    atomics,
    build,
    checks,
    control,
    debug,
    dot,
    elementwise,
    irregular,
    memory,
    polls,
    program,
    reduce,
    shapes,
    tiles,
    types,
    waits,
)
from tle_raw.flir.cpu.convert.kernel import Kernel
from tle_raw.flir.cpu.convert.launch import add_launch
from tle_raw.flir.cpu.convert.plan import analyse
from tle_raw.flir.cpu.convert.regions import Regions
from tle_raw.flir.cpu.read_ttir import read_ttir
from tle_raw.flir.print_after import print_module_after, text_of


def convert(module: Any, metadata: dict[str, Any], options: Any) -> str:
    """A module of Triton's (after its ``ttir`` stage) as text in the Linalg form.

    ``metadata`` receives ``name`` (the kernel's), ``checks``, and whether its programs ``may_wait`` for each other.

    Raises
    ------
    LoweringError : the kernel uses what CPUs have no lowering for; the error names it and the kernel's line.
    """
    source = read_ttir(module)
    print_module_after("read-ttir", source)
    ir = mlir()
    with source.context, ir.Location.unknown():
        _structure(source)
        tiles.forget_parts()
        new = ir.Module.create()
        functions = {_name(f.operation): f.operation for f in source.body.operations}
        entry = next(f for f in functions.values() if _is_public(f))
        metadata["name"] = _name(entry)
        debug = bool(options.debug_checks)
        regions = Regions(source)
        regions.describe(metadata)
        kernel = _convert_function(new, entry, functions, regions, options)
        metadata["checks"], metadata["may_wait"] = kernel.checks, kernel.may_wait
        if kernel.checks:
            waiting = any(check["kind"] == "standstill" for check in kernel.checks)
            _add_helpers(new, checks.FUNCTIONS + (checks.INSIDE if debug else "") + (waits.FUNCTION if waiting else ""))
        print_module_after("convert-to-linalg", new)
        _clean(new)
        print_module_after("clean", new)
        return text_of(new)


def _name(function: Any) -> str:
    return str(function.attributes["sym_name"].value)


def _is_public(function: Any) -> bool:
    return "sym_visibility" not in function.attributes or function.attributes["sym_visibility"].value == "public"


def _structure(source: Any) -> None:
    """Early returns make branches between blocks of them: loops and ifs again."""
    from torch_mlir.passmanager import PassManager

    for view in source.body.operations:
        if len(view.operation.regions[0].blocks) > 1:
            PassManager.parse("builtin.module(func.func(lift-cf-to-scf,canonicalize))").run(source.operation)
            print_module_after("structure-control-flow", source)
            return


def _convert_function(new: Any, function: Any, functions: dict[str, Any], regions: Regions, options: Any) -> Kernel:
    ir = mlir()
    source = function.regions[0].blocks[0]
    arguments = [types.computed(a.type) for a in source.arguments]
    small, pointer = build.type_of("i32"), build.type_of("!llvm.ptr")
    inputs = [*arguments, *[small] * 6, pointer, pointer, pointer]
    empty = ir.DictAttr.get({})
    alone = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    attributes = [empty] * (len(inputs) - 3) + [alone, alone, empty]
    with ir.InsertionPoint(new.body):
        kernel_function = build.create(
            "func.func",
            (),
            (),
            {
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, [])),
                "sym_name": ir.StringAttr.get(_name(function)),
                "sym_visibility": ir.StringAttr.get("private"),
                "arg_attrs": ir.ArrayAttr.get(attributes),
                # LLVM would unroll the walk over the programs, and compile the kernel many times.
                "llvm.no_inline": ir.UnitAttr.get(),
            },
            regions=1,
        )
    plan = analyse(function)
    for name, other in functions.items():
        if name != _name(function):
            plan.add(analyse(other))
    with build.block(kernel_function.regions[0], inputs) as entry:
        *values, x, y, z, grid_x, grid_y, grid_z, _small, _scratch, context = entry.arguments
        kernel = Kernel(entry, plan, (x, y, z), (grid_x, grid_y, grid_z), context, debug=bool(options.debug_checks))
        kernel.functions, kernel.regions, kernel.num_warps = functions, regions, options.num_warps
        kernel.values.update(zip(source.arguments, values))
        kernel.convert_block(source)
        build.create("func.return")
    add_launch(new, _name(function), arguments, kernel.may_wait)
    return kernel


def _add_helpers(module: Any, functions: str) -> None:
    """Put more functions, given as text, into the module."""
    parsed = mlir().Module.parse(functions)
    for function in parsed.body.operations:
        module.body.append(function.operation.clone())


def _clean(module: Any) -> None:
    """Verify what was made; equal address arithmetic is written once."""
    from torch_mlir.passmanager import PassManager

    module.operation.verify()
    PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
