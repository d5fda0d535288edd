"""How the passes over PTX are called, and Triton's stages around them: LLVM's code generation and ptxas."""

from __future__ import annotations

from tle_raw.flir.nvidia.calls.state import State
from tle_raw.flir.nvidia.explain_ptx import explained_refusals, refuse_indirect_calls
from tle_raw.flir.nvidia.raise_occupancy import raise_occupancy
from tle_raw.knobs import knobs
from tle_raw.linker.ptx.begin_with_loads import begin_with_loads
from tle_raw.linker.ptx.branch_back import branch_back
from tle_raw.linker.ptx.keep_branches import keep_branches
from tle_raw.linker.ptx.pair_words import pair_words
from tle_raw.linker.ptx.sink_values import sink_values
from tle_raw.linker.ptx.spread_divisions import spread_divisions
from tle_raw.linker.ptx.unroll_once import unroll_once
from tle_raw.linker.ptx.wide_local_addresses import wide_local_addresses
from tle_raw.linker.ptx.wide_products import wide_products
from tle_raw.linker.ptx.zero_accumulators import zero_accumulators
from tle_raw.linker.verify import verify_kernel


class Ptx(State):
    """A method for each pass: see ``run_stage``."""

    def triton_ptx(self) -> int:
        self.module = self.own(self.module, self.metadata)
        return 1

    def zero_accumulators(self) -> int:
        return self._edit(zero_accumulators(self.module))

    def pair_words(self) -> int:
        return self._edit(pair_words(self.module))

    def spread_divisions(self) -> int:
        return self._edit(spread_divisions(self.module))

    def branch_back(self) -> int | None:
        return self._edit(branch_back(self.module)) if knobs.like_nvcc and self._has_cuda_code() else None

    def wide_local_addresses(self) -> int | None:
        return self._edit(wide_local_addresses(self.module)) if self._has_cuda_code() else None

    def sink_values(self) -> int | None:
        return self._edit(sink_values(self.module)) if self._is_whole_kernel() else None

    def begin_with_loads(self) -> int | None:
        return self._edit(begin_with_loads(self.module)) if self._is_whole_kernel() else None

    def unroll_once(self) -> int | None:
        return self._edit(unroll_once(self.module)) if self._is_whole_kernel() else None

    def wide_products(self) -> int | None:
        return self._edit(wide_products(self.module)) if self._is_whole_kernel() else None

    def keep_branches(self) -> int | None:
        return self._edit(keep_branches(self.module)) if self._is_whole_kernel() else None

    def refuse_indirect_calls(self) -> int:
        refuse_indirect_calls(self.module, self.regions, self.compiled)
        return 1

    def verify_kernel(self) -> int | None:
        if not knobs.verify:
            return None
        verify_kernel(self.module, None, inlined={fragment.entry: fragment.inline for fragment in self.compiled})
        return 1

    def explain_refusals(self) -> int:
        self.assembly = self.module
        with explained_refusals(self.module, self.regions, self.compiled):
            self.module = self.own(self.module, self.metadata)
        return 1

    def raise_occupancy(self) -> int | None:
        if not self._is_whole_kernel():
            return None
        shared = int(self.metadata["shared"])
        found = raise_occupancy(
            self.assembly, self.module, self.capability, shared, lambda text: self.own(text, dict(self.metadata))
        )
        self.module = found or self.module
        return int(found is not None)
