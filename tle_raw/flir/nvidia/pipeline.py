"""What FLIR does inside Triton's stages for NVIDIA GPUs: it reads top to bottom.

A module without regions goes through untouched. With regions:

ttgir : convert to TritonGPU, read the ports, check where they stand, compile their fragments, place their buffers,
        put memory and calls in their place; then Triton's own stage runs on the result, and the barriers are put in.
llir  : hand the fragments' modules to Triton's own linker and optimiser; align the dynamic shared memory.
ptx   : say zeros so that ptxas sees them, spread divisions between stores; verify that the promise holds.
cubin : what ptxas refuses is told at the fragment's line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import triton
from triton._C.libtriton import ir, passes

from tle_raw.errors import TLEError
from tle_raw.flir.compile_fragments import compile_fragments
from tle_raw.flir.exact_block import exact_block, with_block
from tle_raw.flir.nvidia.check_alone import check_alone
from tle_raw.flir.nvidia.check_order import check_order
from tle_raw.flir.nvidia.check_regions import (
    WARP,
    check_compiled,
    check_launch,
    check_not_specialised,
    check_warps,
)
from tle_raw.flir.nvidia.explain_ptx import explained_refusals, refuse_indirect_calls
from tle_raw.flir.nvidia.insert_barriers import insert_barriers
from tle_raw.flir.nvidia.leave_out_libdevice import LIBRARY, calls_libdevice, may_need_libdevice
from tle_raw.flir.nvidia.limit_registers import limit_registers
from tle_raw.flir.nvidia.order_regions import missing_barriers, place_barriers, place_in_text
from tle_raw.flir.nvidia.pin_barriers import pin_barriers
from tle_raw.flir.nvidia.place_buffers import place_buffers
from tle_raw.flir.nvidia.read_ports import Region, holds_ports, is_border, read_regions
from tle_raw.flir.nvidia.replace_ports import replace_ports, spelling_of
from tle_raw.flir.nvidia.shared_memory_limit import asked_of_driver, check_shared_memory, needs_alignment
from tle_raw.flir.print_after import print_after
from tle_raw.flir.record_regions import record_regions
from tle_raw.flir.traced_failures import guard_stages
from tle_raw.flir.view import add_view
from tle_raw.fragments.compiled import CompiledFragment
from tle_raw.fragments.fragment import fragment_by_identity
from tle_raw.knobs import knobs
from tle_raw.linker.llvm.no_vectors import optimised
from tle_raw.linker.llvm.shared_memory import dynamic_shared_alignment
from tle_raw.linker.mlir.text import value_uses
from tle_raw.linker.processes.temporary_folder import temporary_folder
from tle_raw.linker.ptx.pair_words import pair_words
from tle_raw.linker.ptx.spread_divisions import spread_divisions
from tle_raw.linker.ptx.zero_accumulators import zero_accumulators
from tle_raw.linker.verify import verify_kernel
from tle_raw.regions import traced_regions
from tle_raw.regions.stages import begin_compilation, end_compilation
from tle_raw.target import Target

Stage = Callable[[Any, dict], Any]
MAJOR, MINOR = (int(v) for v in triton.__version__.split(".")[:2])


@dataclass
class _Module:
    """What one compilation knows of its regions, from stage to stage."""

    regions: list[Region] = field(default_factory=list)
    compiled: list[CompiledFragment] = field(default_factory=list)
    threads: int = 0  # of the block, where the regions alone decide it


def join_stages(stages: dict[str, Stage], options: Any, capability: int) -> None:
    """Wrap the stages of one compilation."""
    traced_regions.begin()
    module = _Module()
    for name, wrap in (("ttgir", _ttgir), ("llir", _llir), ("ptx", _ptx), ("cubin", _cubin)):
        if name in stages:
            stages[name] = wrap(stages[name], module, options, capability)
    guard_stages(stages)
    begin_compilation("cuda", stages, options, add_view)


def _ttgir(stock: Stage, module: _Module, options: Any, capability: int) -> Stage:
    def ttgir(source, metadata):
        end_compilation()
        if not holds_ports(text := source.str_nodebug()):
            source = _order_traced(source) if is_border(text) else source
            traced_regions.describe(metadata)
            return stock(source, metadata)
        _convert(source, options, capability)
        text = source.str()
        print_after("convert-to-ttgpuir", text)
        lines = text.splitlines()
        module.regions = regions = read_regions(lines)
        blocks = [fragment_by_identity(region.record.fragment).block for region in regions]
        declared = exact_block(lines, blocks)
        _check(regions, options, declared)
        check_not_specialised(lines, regions, capability)
        module.compiled = compile_fragments([r.record for r in regions], Target("cuda", capability))
        check_alone(lines, regions, module.compiled)
        module.threads = exact_block(lines, [*blocks, *(fragment.block for fragment in module.compiled)])
        if not module.threads:
            if declared:  # what the compilers wrote for is another block: then the launch's counts after all
                _check(regions, options, 0)
            for region, fragment in zip(regions, module.compiled):
                check_compiled(region, fragment, options)
        missing = missing_barriers(lines, regions, module.compiled)
        place_in_text(lines, missing, spelling_of((MAJOR, MINOR)).memory_barrier)
        traced_regions.describe(metadata)
        placements = place_buffers(regions, partial(value_uses, lines))
        place_barriers(regions, placements, module.compiled, missing)
        pin_barriers(lines, regions, placements, module.compiled)
        text = replace_ports(lines, regions, placements, module.compiled, spelling_of((MAJOR, MINOR)))
        text = limit_registers(text, module.compiled, options)
        print_after("replace-ports", text)
        result = stock(_parse(text, source.context), metadata)
        if all(placement.pinned for placement in placements):
            return result
        lines = result.str().splitlines()
        check_order(lines, regions, module.compiled)
        text = insert_barriers(lines, spelling_of((MAJOR, MINOR)))
        print_after("insert-barriers", text)
        return _parse(text, source.context)

    return ttgir


def _llir(stock: Stage, module: _Module, options: Any, capability: int) -> Stage:
    def llir(source, metadata):
        if not module.regions:
            return stock(source, metadata)
        before = source.str()  # the stage works on the module in place
        without_libdevice = not may_need_libdevice(before)
        text = _link(stock, source, metadata, module, options, without_libdevice)
        if without_libdevice and calls_libdevice(text):
            text = _link(stock, _parse(before, source.context), metadata, module, options, False)
        text = optimised(text)
        print_after("link-fragments", text)
        check_warps(metadata["num_warps"], module.regions, options)
        if module.threads:
            text = with_block(text, module.threads)
            metadata["num_warps"] = module.threads // WARP
        check_shared_memory(metadata["shared"] or 0, module.compiled, capability)
        metadata["shared"] = asked_of_driver(metadata["shared"] or 0, module.compiled, capability)
        if needs_alignment(capability, module.compiled):
            text = dynamic_shared_alignment(text)
            print_after("align-shared-memory", text)
        metadata["tle_raw"] = record_regions([r.record for r in module.regions], module.compiled)
        return text

    return llir


def _link(stock: Stage, source: Any, metadata: dict, module: _Module, options: Any, without_libdevice: bool) -> str:
    """Triton's own stage with the fragments among its libraries.

    The options are frozen and their cache key is made already: the fragments are in it by their own keys.
    """
    own_libraries = options.extern_libs
    # The fragments come first: of each library only those functions are linked that the ones before it call.
    libraries = {f"tle_raw_{f.entry}": str(f.path) for f in module.compiled}
    libraries |= {name: path for name, path in own_libraries if not (without_libdevice and name == LIBRARY)}
    object.__setattr__(options, "extern_libs", tuple(libraries.items()))
    try:
        return stock(source, metadata)
    finally:
        object.__setattr__(options, "extern_libs", own_libraries)


def _ptx(stock: Stage, module: _Module, options: Any, capability: int) -> Stage:
    def ptx(source, metadata):
        text = stock(source, metadata)
        if not module.regions:
            return text
        text = spread_divisions(pair_words(zero_accumulators(text)))
        refuse_indirect_calls(text, module.regions, module.compiled)
        if knobs.verify:
            inlined = {f.entry: f.inline for f in module.compiled}
            verify_kernel(text, None, inlined=inlined)
        return text

    return ptx


def _cubin(stock: Stage, module: _Module, options: Any, capability: int) -> Stage:
    def cubin(source, metadata):
        if not module.regions:
            return stock(source, metadata)
        with explained_refusals(source, module.regions, module.compiled):
            return stock(source, metadata)

    return cubin


def _order_traced(source: Any) -> Any:
    """A module whose regions are all traced, with the barriers between them and the code around."""
    lines = source.str().splitlines()
    place_in_text(lines, missing_barriers(lines), spelling_of((MAJOR, MINOR)).memory_barrier)
    return _parse("\n".join(lines), source.context)


def _convert(source: Any, options: Any, capability: int) -> None:
    """Give every tensor its layout. Triton's own stage starts with the same pass, which is idempotent."""
    manager = ir.pass_manager(source.context)
    passes.ttir.add_convert_to_ttgpuir(manager, f"cuda:{capability}", options.num_warps, 32, options.num_ctas)
    manager.run(source, "tle_raw_convert")


def _parse(text: str, context: Any) -> Any:
    """libtriton reads IR from files only."""
    with temporary_folder() as folder:
        file = Path(folder, "module.ttgir")
        file.write_text(text, encoding="utf-8")
        module = ir.parse_mlir_module(str(file), context)
    module.context = context
    return module


def _check(regions: Iterable[Region], options: Any, threads: int) -> None:
    for region in regions:
        fragment = fragment_by_identity(region.record.fragment)
        try:
            check_launch(region, fragment, options, threads)
        except TLEError as e:
            e.at(fragment=region.record.bound.name, source=fragment.place, call_site=region.record.call_site)
            raise
