"""How the passes over regions are called: from port markers to calls of fragments."""

from __future__ import annotations

from functools import partial

from tle_raw.errors import TLEError
from tle_raw.flir.compile_fragments import compile_fragments
from tle_raw.flir.exact_block import exact_block
from tle_raw.flir.nvidia.buffers_in_place import find_buffers, find_descriptors
from tle_raw.flir.nvidia.calls.state import State
from tle_raw.flir.nvidia.calls.triton_version import SPELLING
from tle_raw.flir.nvidia.check_exclusive import check_exclusive, stands_alone
from tle_raw.flir.nvidia.check_regions import check_compiled, check_launch, check_not_specialised
from tle_raw.flir.nvidia.limit_registers import limit_registers
from tle_raw.flir.nvidia.order_regions import missing_barriers, place_barriers, place_in_text
from tle_raw.flir.nvidia.pin_barriers import pin_barriers
from tle_raw.flir.nvidia.place_buffers import place_buffers
from tle_raw.flir.nvidia.read_ports import read_regions
from tle_raw.flir.nvidia.region_partitions import enter_partitions, region_places
from tle_raw.flir.nvidia.replace_ports import replace_ports
from tle_raw.flir.parse_module import parse_module
from tle_raw.linker.mlir.text import value_uses
from tle_raw.regions import traced_regions
from tle_raw.target import Target


class Regions(State):
    """A method for each pass: see ``run_stage``."""

    def order_traced_regions(self) -> int | None:
        if self.has_borders:
            lines = self.text().splitlines()
            place_in_text(lines, missing_barriers(lines), SPELLING.memory_barrier)
            self.module = parse_module("\n".join(lines), self.context)
        traced_regions.describe(self.metadata)
        return 1 if self.has_borders else None

    def read_ports(self) -> int:
        self.lines = self.text().splitlines()
        self.regions = read_regions(self.lines)
        return len(self.regions)

    def find_partitions(self) -> int | None:
        if not self.may_be_divided:
            return None
        self.places = region_places(self.lines, self.regions, self.options.num_warps)
        return len(set(self.places))

    def declared_block(self) -> int | None:
        if self.may_be_divided:
            return None
        self.declared = exact_block(self.lines, [fragment.block for fragment in self.fragments])
        return 1

    def check_launch(self) -> int:
        self._check_launch(self.declared)
        return 1

    def check_not_specialised(self) -> int:
        check_not_specialised(self.lines, self.regions, self.capability)
        return 1

    def compile_fragments(self) -> int:
        records = [region.record for region in self.regions]
        self.compiled = compile_fragments(records, Target("cuda", self.capability))
        return 1

    def check_exclusive(self) -> int:
        check_exclusive(self.lines, self.regions, self.compiled)
        return 1

    def compiled_block(self) -> int | None:
        if self.may_be_divided:
            return None
        declared = [fragment.block for fragment in self.fragments]
        self.threads = exact_block(self.lines, [*declared, *(fragment.block for fragment in self.compiled)])
        return 1

    def check_compiled(self) -> int | None:
        if self.threads:
            return None
        if self.declared:  # what the compilers wrote for is another block: then the launch's counts after all
            self._check_launch(0)
        for region, fragment, place in zip(self.regions, self.compiled, self._places()):
            check_compiled(region, fragment, place)
        return 1

    def enter_partitions(self) -> int | None:
        if not self.may_be_divided:
            return None
        self.compiled = enter_partitions(self.regions, self.places, self.compiled)
        return len(set(self.places))

    def decide_barriers(self) -> int:
        self.missing = missing_barriers(self.lines, self.regions, self.compiled)
        return 1

    def order_regions(self) -> int:
        place_in_text(self.lines, self.missing, SPELLING.memory_barrier)
        traced_regions.describe(self.metadata)
        return 1

    def find_buffers(self) -> int | None:
        self.in_place = find_buffers(self.lines, self.regions)
        self.descriptors = find_descriptors(self.lines, self.regions)
        return sum(len(placed) for placed in self.in_place) + sum(len(placed) for placed in self.descriptors) or None

    def place_buffers(self) -> int:
        self.placements = place_buffers(self.regions, partial(value_uses, self.lines), self.in_place, self.descriptors)
        return 1

    def place_barriers(self) -> int:
        alone = stands_alone(self.lines, self.regions, self.compiled)
        place_barriers(self.regions, self.placements, self.compiled, self.missing, alone)
        return 1

    def pin_barriers(self) -> int:
        pin_barriers(self.lines, self.regions, self.placements, self.compiled)
        return 1

    def replace_ports(self) -> int:
        self._take(
            replace_ports(
                self.lines,
                self.regions,
                self.placements,
                self.compiled,
                SPELLING,
                self.capability >= 90,
                self.has_stages,
                self.options.num_ctas,
            )
        )
        return len(self.regions)

    def limit_registers(self) -> int | None:
        if not any(fragment.register_limit for fragment in self.compiled):
            return None
        return self._edit(limit_registers(self.module, self.compiled, self.options))

    def _check_launch(self, threads: int) -> None:
        for region, fragment, place in zip(self.regions, self.fragments, self._places()):
            try:
                check_launch(region, fragment, self.options, threads, place)
            except TLEError as e:
                e.at(fragment=region.record.bound.name, source=fragment.location, call_site=region.record.call_site)
                raise
