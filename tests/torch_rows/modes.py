"""Rows: the ways of ``torch.compile``."""

from __future__ import annotations

import contextlib

import torch

from tests.torch_rows.kernels import (
    ROWS,
    B,
    add_tiles,
    among_others,
    check_halved,
    check_launched,
    chosen,
    halved,
    launched,
    numbers,
    shares,
    sums,
    tuned,
    two_regions,
)


def compiled(function=launched, **options):
    torch._dynamo.reset()
    return torch.compile(function, **{"fullgraph": True, **options})


def inductor(device):
    check_launched(compiled(among_others, dynamic=False), device, scale=2, shift=-1)


def dynamic_shapes(device):
    function = compiled(dynamic=True)
    check_launched(function, device, (3, 5, 8))


def sizes_that_change(device):
    """torch compiles once for the first size, and once more for all sizes."""
    check_launched(compiled(), device, (3, 5, 8))


def aot_eager(device):
    check_launched(compiled(backend="aot_eager"), device)


def eager(device):
    check_launched(compiled(backend="eager"), device)


def reduce_overhead(device):
    function = compiled(halved, mode="reduce-overhead")
    for _ in range(4):
        check_halved(function, device)


def max_autotune(device):
    check_launched(compiled(mode="max-autotune-no-cudagraphs"), device)


def max_autotune_with_graphs(device):
    function = compiled(halved, mode="max-autotune")
    for _ in range(4):
        check_halved(function, device)


def _broken(x, s, copy):
    torch._dynamo.graph_break()
    got = launched(x, s, copy)
    torch._dynamo.graph_break()
    return got.view(-1).view_as(got)


def graph_breaks(device):
    check_launched(compiled(_broken, fullgraph=False), device)


def _tuned(x):
    out = torch.empty_like(x)
    tuned[lambda meta: (-(-x.numel() // meta["B"]),)](x, out, x.numel())
    return out


def autotuned_kernel(device):
    check_halved(compiled(_tuned), device)


def _chosen(x):
    out = torch.empty_like(x)
    chosen[(x.numel() // 32,)](x, out, x.numel())
    return out


def kernel_with_heuristics(device):
    check_halved(compiled(_chosen), device)


def _tiles(x, o):
    add_tiles[(1,)](x, o, x.shape[0], ROWS=4, B=B)
    return o.clone()


def descriptors_and_a_copy_that_adds(device):
    x, o = numbers(device)
    expected = o.double() + 2 * x.double()
    allocate(device)
    torch.testing.assert_close(compiled(_tiles)(x, o).double(), expected)


def allocate(device):
    import triton

    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))


def _sums(x):
    out = torch.empty_like(x)
    sums[(1,)](x, out, B=B)
    return out


def functions_of_tle_by_name(device):
    x = numbers(device)[0][0]
    expected = x.double().cumsum(0) - x.double()
    torch.testing.assert_close(compiled(_sums)(x).double(), expected, rtol=1e-5, atol=1e-6)


class Halve(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return halved(x)

    @staticmethod
    def backward(_, gradient):
        return halved(gradient.contiguous())


def gradients(device):
    for apply in (Halve.apply, compiled(lambda x: Halve.apply(x))):
        x = torch.randn(ROWS, B, device=device, requires_grad=True)
        apply(x).sum().backward()
        assert (x.grad == 0.5).all()


def workers(device):
    """Inductor's processes, which have imported nothing of the kernels' module."""
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    with config.patch(compile_threads=2, force_disable_caches=True):
        AsyncCompile.wait_pool_ready()
        assert AsyncCompile.use_process_pool()
        check_launched(compiled(), device)


def cpp_wrapper(device):
    from torch._inductor import config

    with config.patch(cpp_wrapper=True), refused(device, "Python launches kernels for the CPU"):
        check_launched(compiled(), device)


@contextlib.contextmanager
def refused(device, why, where="cpu"):
    """On some device the error says why."""
    if device != where:
        yield
        return
    try:
        yield
    except Exception as error:
        assert why in str(error), error
        assert "LaunchError" in str(error) or type(error).__name__ == "LaunchError", repr(error)
    else:
        raise AssertionError(f"{device}: no error says {why!r}")


def a_cuda_graph(device):
    x, out = numbers(device)
    eager_out = halved(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = halved(x)
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.testing.assert_close(out.double(), x.double() / 2)
    assert not torch.equal(out, eager_out)


def inductor_writes_triton_for_the_cpu(device):
    """Inductor's own kernels too are Triton's, compiled by the CPU target."""
    from torch._inductor import config

    with config.patch(cpu_backend="triton"):
        check_launched(compiled(among_others), device, scale=2, shift=-1)


def what_is_written_is_known(device):
    """torch asks Triton's IR: what is only read is not cloned, and no warning says that it cannot be known."""
    from torch._higher_order_ops import triton_kernel_wrap

    def check(kernel, reads, writes, **others):
        tensors = dict.fromkeys((*reads, *writes), torch.zeros(4, 64, device=device))
        if hasattr(triton_kernel_wrap, "identify_mutated_tensors"):  # before torch 2.13
            found = triton_kernel_wrap.identify_mutated_tensors(kernel, {**tensors, **others}, {})
            assert {*found} & {*tensors} == {*writes}, found
            return
        found = triton_kernel_wrap.identify_accessed_tensors(kernel, {**tensors, **others}, {}).read_writes
        assert {d.name for d in found.writes} & {*tensors} == {*writes}, found
        assert {*reads} <= {d.name for d in found.reads}, found

    check(two_regions, ("x_ptr", "s_ptr"), ("copy_ptr", "o_ptr"), n=3, B=64)
    check(shares, ("x_ptr",), ("o_ptr",), rows=4, B=64)
    check(add_tiles, ("x_ptr",), ("o_ptr",), rows=4, ROWS=4, B=64)
