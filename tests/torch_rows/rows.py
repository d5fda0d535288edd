"""All rows by their names, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable

from tests.torch_rows import modes, operators, programs

ROWS: dict[str, Callable[[str], None]] = {
    f.__name__: f
    for f in (
        modes.what_is_written_is_known,
        modes.inductor,
        modes.dynamic_shapes,
        modes.sizes_that_change,
        modes.reduce_overhead,
        modes.max_autotune,
        modes.max_autotune_with_graphs,
        modes.graph_breaks,
        modes.eager,
        modes.aot_eager,
        modes.autotuned_kernel,
        modes.kernel_with_heuristics,
        modes.descriptors_and_a_copy_that_adds,
        modes.functions_of_tle_by_name,
        modes.gradients,
        modes.workers,
        modes.cpp_wrapper,
        modes.a_cuda_graph,
        modes.inductor_writes_triton_for_the_cpu,
        operators.triton_op,
        operators.gradient_of_a_triton_op,
        operators.custom_op,
        operators.vmap_by_a_rule,
        operators.fake_tensors_of_operators,
        operators.compiled_after_a_copy,
        programs.export,
        programs.export_of_an_operator,
        programs.aot_inductor,
        programs.a_cache_of_graphs_sees_an_edited_fragment,
        operators.vmap_of_a_launch,
        operators.functionalize_of_a_launch,
        operators.gradient_of_a_launch,
        operators.launch_on_a_fake_tensor,
        operators.launch_on_a_meta_tensor,
        operators.launch_on_freed_memory,
    )
}

_GPU_ONLY = frozenset(("a_cuda_graph",))
_CPU_ONLY = frozenset(("inductor_writes_triton_for_the_cpu",))


def needs_gpu(name: str) -> bool:
    """Whether a row says nothing of the CPU's target."""
    return name in _GPU_ONLY


def needs_cpu(name: str) -> bool:
    """Whether a row says nothing of GPUs."""
    return name in _CPU_ONLY
