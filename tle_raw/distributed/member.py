"""A member of a group of GPUs that share memory: what a kernel is handed as its context."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any

from tle_raw.distributed.agreement import Agreement
from tle_raw.distributed.faults import fault_of
from tle_raw.distributed.heap import Heap, bytes_of
from tle_raw.distributed.regions import Region
from tle_raw.errors import ContextError
from tle_raw.frontends.distributed import context_layout
from tle_raw.frontends.distributed.context_layout import Layout


class Context:
    """One member of a group of GPUs: its own memory, the way to that of the others, and signals.

    Made by ``context`` or ``contexts``. Handed to a kernel it is a pointer, ``context``, that ``tle.shard_id``,
    ``tle.remote``, ``tle.distributed_barrier``, ``tle.signal`` and ``tle.signal_wait`` take. Kernels of one context run
    one after the other, on one stream.

    Attributes
    ----------
    rank, world : the number of this member, and of all. ``device`` is its GPU's number in this process.
    layout : sizes that all members agree on.
    """

    def __init__(self, layout: Layout, region: Region, agreement: Agreement, time_limit: float) -> None:
        self.layout, self.rank, self.world = layout, region.rank, layout.world
        self.device = region.device.number
        self._region, self._agreement = region, agreement
        self._heap = Heap(layout.offsets[context_layout.TENSORS], layout.region_bytes)
        self._report = region.device.allocate_on_host(8 * context_layout.REPORT_WORDS)
        self._table = region.device.allocate(8 * context_layout.TABLE_WORDS)
        self._is_open = True
        words = layout.table(self.rank, region.heaps, self._report, time_limit, region.multicast)
        region.device.write(self._table, struct.pack(f"<{len(words)}q", *words))
        self._time_limit = time_limit
        agreement.agree("ready", "yes")  # no member's kernel begins before all regions are zero

    @property
    def dtype(self) -> Any:
        """What Triton takes the argument for: a pointer to i64, or where other nodes are reached, to u64."""
        torch, name = sys.modules.get("torch"), "uint64" if self.layout.nodes > 1 else "int64"
        return getattr(torch, name) if torch is not None else name

    def data_ptr(self) -> int:
        """The table's address, asked for at each launch.

        Raises
        ------
        PeerError : an earlier kernel waited in vain. ContextError : the context is closed.
        """
        self._check_open()
        self._raise_fault()
        return self._table

    @property
    def time_limit(self) -> float:
        """Seconds that a wait in a kernel may last; 0 is without end. To be set while no kernel runs."""
        return self._time_limit

    @time_limit.setter
    def time_limit(self, seconds: float) -> None:
        self._check_open()
        place = self._table + 8 * context_layout.TIME_LIMIT
        self._region.device.write(place, struct.pack("<q", int(seconds * 1e9)))
        self._time_limit = seconds

    def empty(self, shape: int | Sequence[int], dtype: Any) -> Any:
        """A tensor in this member's memory, which the others reach at the same offset in theirs.

        All members ask for the same tensors in the same order. ``dtype`` is torch's, and what comes is a torch tensor;
        or a name, as ``"float32"``, and what comes has ``__cuda_array_interface__`` and ``data_ptr``. What it holds is
        undefined. It must not outlive the context.

        Raises
        ------
        ContextError : the members ask for different ones, or the memory is used up.
        """
        self._check_open()
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        offset = self._heap.take(bytes_of(sizes, dtype))
        self._agreement.agree("tensor", f"{sizes} of {str(dtype).split('.')[-1]} at {offset}")
        return self._region.device.tensor(self._region.own + offset, sizes, dtype, self)

    def load(self, kernel: Any, *arguments: Any, grid: tuple[int, ...], **options: Any) -> None:
        """Compile a kernel and load its code onto this member's GPU, without running it.

        To be called for each member of ``contexts`` before the first launch: while one GPU waits in a kernel, the
        driver may not load code onto another one of the same process. The arguments are those of the launch.
        """
        import torch

        with torch.cuda.device(self.device):
            compiled = kernel.warmup(*arguments, grid=grid, **options)
            compiled._init_handles()

    def holds(self, address: int, size: int) -> bool:
        """Whether these bytes lie in this member's memory for tensors."""
        own = self._region.own
        return own + self.layout.offsets[context_layout.TENSORS] <= address <= own + self.layout.region_bytes - size

    def meet(self) -> None:
        """Wait for this device, and until all members have come here. In one process it waits for the device alone."""
        self._check_open()
        self._region.device.wait()
        self._agreement.agree("meet", "yes")

    def reset(self) -> None:
        """Take the memory of all tensors back, on all members at the same time. No kernel may use them any more."""
        self._check_open()
        self._region.device.wait()
        self._agreement.agree("reset", "yes")
        self._heap.reset()

    def check(self) -> None:
        """Wait for the device, and raise the PeerError of a wait that came to nothing."""
        self._check_open()
        self._region.device.wait()
        self._raise_fault()

    def close(self) -> None:
        """Give all memory back. Of several processes each waits until all have come here: their kernels are over.

        After a wait that came to nothing it does not wait for the others, one of which may be gone; memory of
        NVSHMEM's, which all give back at once, stays until the process ends then.
        """
        if not self._is_open:
            return
        self._is_open = False
        self._region.device.wait()
        is_alone = bool(self._fault_kind())
        if not is_alone:
            self._agreement.leave()
        self._region.device.free(self._table)
        self._region.device.free_on_host(self._report)
        self._region.close(alone=is_alone)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Context(rank={self.rank}, world={self.world}, device={self.device}, bytes={self.layout.bytes})"

    def _fault_kind(self) -> int:
        return ctypes.c_int64.from_address(self._report).value

    def _raise_fault(self) -> None:
        if self._fault_kind():
            raise fault_of(list((ctypes.c_int64 * context_layout.REPORT_WORDS).from_address(self._report)))

    def _check_open(self) -> None:
        if not self._is_open:
            raise ContextError("the context is closed")
