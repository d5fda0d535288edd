"""How values, tiles and memory come into the entry of a region: by Triton's call on a GPU, or as one thread's share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle_raw.adapters.common.launched_kernel import WARP
from tle_raw.adapters.tilelang.linked import emulated_descriptor
from tle_raw.adapters.tilelang.linked.descriptors import BYTES
from tle_raw.adapters.tilelang.linked.lower import Lowered

_SHARED = "(__attribute__((address_space(3))) void*)"
_ALIGNED = 1024  # bytes, of dynamic shared memory


@dataclass(frozen=True)
class Call:
    """How Triton calls the entry: values are its parameters, and tiles lie in the GPU's shared memory.

    ``shared`` is bytes of dynamic shared memory.
    """

    shared: int
    end = "  return 0;\n}"
    descriptor = BYTES  # from one TMA descriptor to the next

    def begin(self, entry: str, types: Sequence[str | None]) -> Iterator[str]:
        """The beginning of the entry, in which p0, p1, … are what crosses; the type of a tile is None."""
        parameters = [f"{type_ or 'unsigned'} p{i}" for i, type_ in enumerate(types)] or ["int"]
        parameters += ["unsigned shared"] if self.shared else []
        yield f'extern "C" __attribute__((device)) int {entry}({", ".join(parameters)}) {{'

    @property
    def memory(self) -> str:
        """The address of the dynamic shared memory."""
        return "(unsigned char*)(__attribute__((address_space(3))) unsigned char*)shared" if self.shared else "nullptr"

    def tile(self, position: int) -> str:
        """The address of a tile, which is all that crosses of it."""
        return f"(void*){_SHARED}p{position}"

    def barrier_lines(self, lowered: Lowered, threads: int) -> Iterator[str]:
        """Idle warps take no part in the barriers of TileLang's threads, its templates' included."""
        if lowered.threads != threads and lowered.threads % WARP == 0:
            yield f"#define __syncthreads() tle::tilelang::wait_for_threads<{lowered.threads}>()"

    def leave_idle(self, lowered: Lowered, threads: int) -> Iterator[str]:
        """What ends the threads that only the launch has; here they stay, and run what follows the region."""
        return iter(())


@dataclass(frozen=True)
class Share(Call):
    """One thread's share, as a target wants it that emulates threads: the addresses of what crosses come in a list."""

    end = "}"
    descriptor = emulated_descriptor.BYTES

    def begin(self, entry: str, types: Sequence[str | None]) -> Iterator[str]:
        yield 'extern "C" __attribute__((device)) void tle_team_idle();'
        yield f'extern "C" __attribute__((device)) void {entry}(void* const* crossing) {{'
        for i, type_ in enumerate(types):
            yield f"  const auto p{i} = {f'*({type_} const*)' if type_ else ''}crossing[{i}];"
        if self.shared:
            yield f"  __shared__ __attribute__((aligned({_ALIGNED}))) unsigned char shared[{self.shared}];"

    @property
    def memory(self) -> str:
        return "shared" if self.shared else "nullptr"

    def tile(self, position: int) -> str:
        return f"p{position}"

    def barrier_lines(self, lowered: Lowered, threads: int) -> Iterator[str]:
        """None: who has left is not waited for."""
        return iter(())

    def leave_idle(self, lowered: Lowered, threads: int) -> Iterator[str]:
        if lowered.threads != threads:
            yield f"  if (__nvvm_read_ptx_sreg_tid_x() >= {lowered.threads}) return tle_team_idle();"
