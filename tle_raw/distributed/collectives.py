"""All-reduce, all-gather and reduce-scatter of tensors in a context's memory, by one kernel each."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tle_raw.distributed.member import Context
from tle_raw.errors import ContextError, Row
from tle_raw.frontends.distributed.mesh import device_mesh

if TYPE_CHECKING:
    from tle_raw.distributed.simulation import SimulatedContext

SLOT_BYTES = 8192  # of staging memory, for what one program sends to one peer
_SMALL_PROGRAMS, _TINY_PROGRAMS = 128, 64
_TINY_WORDS = SLOT_BYTES // 8  # each of 4 bytes, with its number
_FLOATS = ("float16", "bfloat16", "float32")


@dataclass(frozen=True)
class Shape:
    """How a kernel for large tensors is launched: programs, bytes of a tile, warps."""

    programs: int = 128
    tile_bytes: int = 8192
    warps: int = 8


class Collectives:
    """Collective operations of a context's members, which all call the same ones in the same order.

    Each is one kernel on the current stream, and nothing waits for it. Tensors are dense ones of torch, of ``float16``,
    ``bfloat16`` or ``float32``; sums are of f32, and their bits are the same on all members.

    Parameters
    ----------
    context : of a GPU, or a simulated one. It is to have 3 MB for each member besides the tensors, for what is small.
    tiny : the most bytes that a member sends to each other one word by word, up to 256 KB.
    small : the most bytes that it sends by the way with one barrier, up to 1 MB.
    shape : how the kernels for larger tensors are launched.

    Attributes
    ----------
    only_load : set it to load an operation's kernel instead of running it, as ``Context.load`` does.
    """

    def __init__(
        self,
        context: Context | SimulatedContext,
        tiny: int = 256 * 1024,
        small: int = 1024 * 1024,
        shape: Shape = Shape(),
    ) -> None:
        import torch

        self.context, self.shape = context, shape
        self.tiny = min(tiny, 4 * _TINY_PROGRAMS * _TINY_WORDS)
        self.small = min(small, min(_SMALL_PROGRAMS, context.layout.blocks) * SLOT_BYTES)
        self.only_load = False
        self._mesh = device_mesh({"device": context.world})
        self._staging = context.empty(2 * context.world * _SMALL_PROGRAMS * SLOT_BYTES, torch.uint8)
        self._stamped = context.empty(2 * context.world * _TINY_PROGRAMS * _TINY_WORDS, torch.int64).zero_()
        self._calls = torch.zeros(_TINY_PROGRAMS, dtype=torch.int32, device=self._stamped.device)
        if not isinstance(context, Context):  # simulated devices work on after a launch that failed
            context.forget_by(self._forget_calls)
        context.meet()  # nobody sends before all memory is zero

    def _forget_calls(self) -> None:
        """A member that has not come to an operation has counted fewer of them."""
        self._stamped.zero_()
        self._calls.zero_()

    def all_reduce(self, x: Any, out: Any = None) -> Any:
        """The sum of all members' ``x``, in ``out`` or in ``x`` itself.

        Of larger ones ``out`` is in the context's memory, at the same place on every member, and is written by the
        others, which is faster: each member adds up an equal share. Or ``x`` is there, and is read by them: in ``x``
        itself they are added in two steps, each member a share, and into another tensor in one step.

        Raises
        ------
        ContextError : another dtype, tensors that are not dense or do not fit, or are not in the context's memory.
        """
        result = x if out is None else out
        self._check(x, result, x.numel())
        if self._is_small(x):
            self._push_small(x, result, x.numel(), scatters=False, gathers=False)
        elif result.data_ptr() == x.data_ptr():
            self._check_share(x)
            self._pull_sum(x, x, x.numel() // self.context.world, shares=True, spreads=True)
        elif x.numel() % self.context.world == 0 and self._is_in_context(result):
            from tle_raw.frontends.distributed.collective_kernels import push_sum

            self._launch(push_sum, x, result, x.numel() // self.context.world)
        else:
            self._pull_sum(x, result, x.numel(), shares=False, spreads=False)
        return result

    def reduce_scatter(self, x: Any, out: Any) -> Any:
        """This member's share of the sum of all members' ``x``: dim 0 is cut into equal parts. Raises as all_reduce."""
        self._check_share(x)
        share = x.numel() // self.context.world
        self._check(x, out, share)
        if self._is_small(out):
            self._push_small(x, out, share, scatters=True, gathers=False)
        else:
            self._pull_sum(x, out, share, shares=True, spreads=False)
        return out

    def all_gather(self, x: Any, out: Any) -> Any:
        """All members' ``x``, one after the other, in ``out``.

        Of larger ones ``out`` is in the context's memory, on all members, and is written by the others, which is
        faster; or ``x`` is, and is read by them. Raises as all_reduce.
        """
        self._check(x, out, x.numel() * self.context.world)
        if self._is_small(x):
            self._push_small(x, out, x.numel(), scatters=False, gathers=True)
            return out
        from tle_raw.frontends.distributed.collective_kernels import pull_all, push_all

        writes = self._is_in_context(out)
        self._check_place(out if writes else x)
        self._launch(push_all if writes else pull_all, x, out, x.numel())
        return out

    def _is_small(self, piece: Any) -> bool:
        return bool(piece.numel() * piece.element_size() <= max(self.small, self.tiny))

    def _push_small(self, x: Any, out: Any, n: int, scatters: bool, gathers: bool) -> None:
        from tle_raw.frontends.distributed.collective_kernels import push_small

        if n * x.element_size() <= self.tiny and n * x.element_size() % 4 == 0:
            self._push_words(x, out, n, scatters, gathers)
            return
        block, warps = SLOT_BYTES // x.element_size(), 8
        world, staging = self.context.world, self._staging.view(x.dtype)
        sizes = (self._mesh, world, scatters, gathers, block)
        self._run(push_small, -(-n // block), warps, x, out, staging, n, *sizes)

    def _push_words(self, x: Any, out: Any, n: int, scatters: bool, gathers: bool) -> None:
        import torch
        import triton.language as tl

        from tle_raw.frontends.distributed.tiny_collectives import push_words

        words = n * x.element_size() // 4
        dtype = getattr(tl, str(x.dtype).removeprefix("torch."))
        memory = (x.view(-1).view(torch.int32), out.view(-1).view(torch.int32), self._stamped, self._calls)
        sizes = (dtype, self.context.world, scatters, gathers, _TINY_WORDS)
        self._run(push_words, -(-words // _TINY_WORDS), 4, *memory, words, *sizes)

    def _pull_sum(self, x: Any, out: Any, n: int, shares: bool, spreads: bool) -> None:
        from tle_raw.frontends.distributed.collective_kernels import pull_sum

        self._check_place(x)
        self._launch(pull_sum, x, out, n, shares, spreads)

    def _launch(self, kernel: Any, x: Any, out: Any, n: int, *flags: bool) -> None:
        block = self.shape.tile_bytes // x.element_size()
        sizes = (self._mesh, self.context.world, *flags, block)
        programs = min(self.shape.programs, self.context.layout.blocks, -(-n // block))
        self._run(kernel, programs, self.shape.warps, x, out, n, *sizes)

    def _run(self, kernel: Any, programs: int, warps: int, *arguments: Any) -> None:
        import torch

        import tle_raw.language  # noqa: F401  (with it kernels are compiled as those of its users)

        with torch.cuda.device(self.context.device) if self.context.device is not None else nullcontext():
            if self.only_load:
                self.context.load(kernel, self.context, *arguments, grid=(programs,), num_warps=warps)
            else:
                kernel[(programs,)](self.context, *arguments, num_warps=warps)

    def _check(self, x: Any, out: Any, count: int) -> None:
        name = str(x.dtype).removeprefix("torch.")
        rows = [
            Row("dtype", f"one of {', '.join(_FLOATS)}" if name not in _FLOATS else name, name),
            Row("dtype of out", name, str(out.dtype).removeprefix("torch.")),
            Row("elements of out", str(count), str(out.numel())),
            Row("dense", "True", str(bool(x.is_contiguous() and out.is_contiguous()))),
        ]
        if any(row.differs for row in rows):
            raise ContextError("these tensors do not fit a collective operation", table=rows)

    def _check_share(self, x: Any) -> None:
        if x.numel() % self.context.world:
            raise ContextError(
                "a tensor is cut into equal parts",
                table=[Row("elements", f"a multiple of {self.context.world}", str(x.numel()))],
            )

    def _check_place(self, tensor: Any) -> None:
        if not self._is_in_context(tensor):
            raise ContextError(
                "a large tensor of a collective operation lies in the context's memory",
                hint="make it with `context.empty`, or make `small` larger",
            )

    def _is_in_context(self, tensor: Any) -> bool:
        return self.context.holds(tensor.data_ptr(), tensor.numel() * tensor.element_size())
