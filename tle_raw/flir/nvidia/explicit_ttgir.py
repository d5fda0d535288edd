"""The TritonGPU passes of kernels that wait for products themselves, or that use tensor memory.

Triton's own stage does not fit them: its software pipeliner takes every ``wgmma`` of a loop for its own, adds waits and
moves the kernel's, and its passes for tensor memory expect the tokens that its own products carry. What is left of it
are layouts, products, descriptors, fences and cleaning up; the order is Triton's.
"""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir, nvidia, passes

BLACKWELL = 100


def uses_tensor_memory(text: str) -> bool:
    """Whether TritonGPU text holds operations on tensor memory that the kernel wrote."""
    return "ttng.tmem_" in text or "ttng.tc_gen5" in text


def explicit_ttgir(module: Any, metadata: dict[str, Any], options: Any, capability: int) -> Any:
    """Run the passes in place of Triton's ``ttgir`` stage."""
    if options.maxnreg is not None:
        module.set_attr("ttg.maxnreg", ir.builder(module.context).get_int32_attr(options.maxnreg))
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    gpu, nv, common, ttir = passes.ttgpuir, nvidia.passes.ttnvgpuir, passes.common, passes.ttir
    gpu.add_coalesce(manager)
    gpu.add_f32_dot_tc(manager, capability >= 80)
    gpu.add_remove_layout_conversions(manager)
    gpu.add_optimize_thread_locality(manager)
    if capability < BLACKWELL:  # there it makes products in tensor memory, with tokens
        gpu.add_accelerate_matmul(manager)
    gpu.add_remove_layout_conversions(manager)
    gpu.add_optimize_dot_operands(manager, capability >= 80)
    nv.add_optimize_descriptor_encoding(manager)  # Triton 3.6 crashes in the lowering of TMA without it
    ttir.add_loop_aware_cse(manager)
    ttir.add_triton_licm(manager)
    common.add_canonicalizer(manager)
    gpu.add_coalesce_async_copy(manager)
    if capability >= BLACKWELL:
        nv.add_optimize_tmem_layouts(manager)
    if capability >= 90:
        nv.add_tma_lowering(manager)
    gpu.add_remove_layout_conversions(manager)
    gpu.add_reduce_data_duplication(manager)
    gpu.add_reorder_instructions(manager)
    ttir.add_loop_aware_cse(manager)
    common.add_symbol_dce(manager)
    nv.add_fence_insertion(manager, capability)
    nv.add_lower_mma(manager)
    if hasattr(nv, "add_hoist_mbarrier_lifecycle"):  # from Triton 3.9 on
        nv.add_hoist_mbarrier_lifecycle(manager, capability)
    common.add_sccp(manager)
    common.add_cse(manager)
    common.add_canonicalizer(manager)
    manager.run(module, "tle_raw_explicit_ttgir")
    metadata["tensordesc_meta"] = module.get_tensordesc_metadata()
    return module
