"""Triton's own passes of the ``ttgir`` stage, cut in two before its software pipeliner.

A kernel whose loops have groups in stages goes through them in place of Triton's stage, which is one piece: between the
two halves ``schedule-groups`` says when each operation of such a loop runs. The order is Triton's, and a kernel without
such loops comes out as Triton makes it; a test compares them.
"""

from __future__ import annotations

from typing import Any

from triton._C.libtriton import ir, nvidia, passes

_HOPPER, _BLACKWELL = 9, 10  # generations: the tens of a capability
_AMPERE = 8


def settle_layouts(module: Any, options: Any, capability: int) -> None:
    """All that Triton runs before its pipeliner, in place."""
    generation = capability // 10
    if options.maxnreg is not None:
        module.set_attr("ttg.maxnreg", ir.builder(module.context).get_int32_attr(options.maxnreg))
    manager = ir.pass_manager(module.context)
    dump = manager.enable_debug()
    gpu, nv, common, ttir = passes.ttgpuir, nvidia.passes.ttnvgpuir, passes.common, passes.ttir
    ttir.add_convert_to_ttgpuir(manager, f"cuda:{capability}", options.num_warps, 32, options.num_ctas)
    if getattr(options, "clc", False):
        nv.add_to_clc(manager)
    gpu.add_coalesce(manager)
    gpu.add_f32_dot_tc(manager, generation >= _AMPERE)
    if hasattr(nv, "add_plan_cta"):  # up to Triton 3.8
        nv.add_plan_cta(manager)
    else:
        nv.add_assign_cga_layouts(manager)
        gpu.add_remove_layout_conversions(manager)
        nv.add_optimize_cta_locality(manager)
    gpu.add_remove_layout_conversions(manager)
    gpu.add_optimize_thread_locality(manager)
    gpu.add_accelerate_matmul(manager)
    if hasattr(nv, "add_check_matmul_two_cta"):
        nv.add_check_matmul_two_cta(manager)
    gpu.add_remove_layout_conversions(manager)
    gpu.add_optimize_dot_operands(manager, capability >= 80)
    nv.add_optimize_descriptor_encoding(manager)
    ttir.add_loop_aware_cse(manager)
    if generation >= _AMPERE:
        gpu.add_fuse_nested_loops(manager)
        common.add_canonicalizer(manager)
    ttir.add_triton_licm(manager)
    if generation in (_AMPERE, _HOPPER):
        common.add_canonicalizer(manager)
        gpu.add_combine_tensor_select_and_if(manager)
        nvidia.passes.hopper.add_hopper_warpspec(manager, options.num_stages, dump)
    elif generation >= _BLACKWELL:
        gpu.add_optimize_accumulator_init(manager)
        gpu.add_hoist_tmem_alloc(manager, False)
        nv.add_promote_lhs_to_tmem(manager)
    if generation >= _AMPERE:
        gpu.add_assign_latencies(manager, options.num_stages)
        gpu.add_schedule_loops(manager)
    manager.run(module, "tle_raw_settle_layouts")


def pipeline_groups(
    module: Any, metadata: dict[str, Any], options: Any, capability: int, with_regions: bool = False
) -> None:
    """Triton's pipeliner and all that Triton runs behind it, in place.

    ``with_regions`` : up to Triton 3.7 the prefetching of operands fails on one that a region made in a branch.
    """
    generation = capability // 10
    manager = ir.pass_manager(module.context)
    dump = manager.enable_debug()
    gpu, nv, common, ttir = passes.ttgpuir, nvidia.passes.ttnvgpuir, passes.common, passes.ttir
    is_old = hasattr(nv, "add_plan_cta")
    if generation >= _BLACKWELL:
        gpu.add_warp_specialize(manager, options.num_stages)
    if generation >= _AMPERE:
        gpu.add_pipeline(manager, options.num_stages, dump)
    if generation >= _BLACKWELL:
        gpu.add_optimize_partition_warps(manager)
        gpu.add_combine_tensor_select_and_if(manager)
        gpu.add_hoist_tmem_alloc(manager, True)
        nv.add_remove_tmem_tokens(manager)
    common.add_canonicalizer(manager)
    ttir.add_loop_aware_cse(manager)
    has_tmem_reduce = hasattr(nv, "add_tmem_load_reduce")  # from Triton 3.8 on
    if (generation == _AMPERE and has_tmem_reduce) or not (has_tmem_reduce or with_regions):
        gpu.add_prefetch(manager)
    gpu.add_optimize_dot_operands(manager, capability >= 80)
    gpu.add_coalesce_async_copy(manager)
    nv.add_optimize_tmem_layouts(manager)
    if has_tmem_reduce:
        nv.add_tmem_load_reduce(manager)
    if generation >= _HOPPER:
        nv.add_tma_lowering(manager)
    if generation >= _BLACKWELL and not is_old:
        nv.add_lower_clc(manager)
    gpu.add_remove_layout_conversions(manager)
    nv.add_interleave_tmem(manager)
    gpu.add_reduce_data_duplication(manager)
    gpu.add_reorder_instructions(manager)
    ttir.add_loop_aware_cse(manager)
    common.add_symbol_dce(manager)
    nv.add_fence_insertion(manager, capability)
    nv.add_lower_mma(manager)
    if hasattr(nv, "add_hoist_mbarrier_lifecycle"):
        nv.add_hoist_mbarrier_lifecycle(manager, capability)
    common.add_sccp(manager)
    common.add_cse(manager)
    common.add_canonicalizer(manager)
    manager.run(module, "tle_raw_pipeline_groups")
    metadata["tensordesc_meta"] = module.get_tensordesc_metadata()
