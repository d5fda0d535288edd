"""What a kernel is given of its context: one table of int64 on the device, and a region of memory on every member.

The table's first words are numbers and offsets; from ``HEAPS`` on stands the address of every member's region. All
regions are alike: first the control part, of which the offsets tell, then the tensors. A member reads and writes its
own table and its own control part, and of another member's region its arrivals, its signals and its tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

VERSION = 2
MOST_MEMBERS = 128

# Words of the table.
VERSION_WORD = 0
RANK = 1
WORLD = 2
BYTES = 3  # of a region, with its control part
BLOCKS = 4  # programs of a launch that may meet their like on other members
SLOTS = 5  # signals that a kernel may use
TIME_LIMIT = 6  # of one wait, in nanoseconds; 0 is none
MULTICAST = 7  # address of all regions at once, by NVLink multicast; 0 is none
REPORT = 8  # address of i64 [REPORT_WORDS]: the device's first fault, where its host reads it
ARRIVALS = 9  # offset: i32 [BLOCKS, WORLD], how often a member has come to a barrier; the member writes it
EXPECTED = 10  # offset: i32 [BLOCKS, WORLD], how often it should have; only its own member uses it
SIGNALS = 11  # offset: i32 [SLOTS]
FAULT = 12  # offset: i64, not zero after the first wait that came to nothing
CLOCK = 13  # offset: i64, the latest time that any program has read
TENSORS = 14  # offset: where the tensors begin
PER_NODE = 15  # members of a node: neighbours, so that node n has those from n * PER_NODE on
STAGES = 16  # offset: BLOCKS pieces of STAGE_BYTES each, through which a program sends tiles to another node
STAGE_BYTES = 17  # 0 where there is one node
SHARES_MEMORY = 18  # whether pointers to regions of other nodes may be used; of simulated nodes all have addresses
HEAPS = 32  # the members' regions, WORLD addresses; 0 of one that no pointer reaches

TABLE_WORDS = HEAPS + MOST_MEMBERS

# Words of a report. All zero is none.
FAULT_KIND = 0
FAULT_RANK = 1  # who waited
FAULT_AWAITED = 2  # for whom; -1 where any member may signal
FAULT_BLOCK = 3
FAULT_SLOT = 4
FAULT_FOUND = 5
FAULT_WANTED = 6
FAULT_PLACE = 8  # the call in the kernel, `function:line` in ASCII, filled with zeros
PLACE_WORDS = 4
REPORT_WORDS = FAULT_PLACE + PLACE_WORDS

# Kinds of faults.
AT_BARRIER = 1
AT_SIGNAL = 2
TOO_MANY_BLOCKS = 3  # of the launch: FOUND, WANTED at most
OTHER_WORLD = 4  # the mesh has WANTED members, the context FOUND
NO_SUCH_SLOT = 5
NO_SUCH_MEMBER = 6
OTHER_NODES = 7  # the mesh has WANTED members to a node, the context FOUND
NOT_REACHED = 8  # no pointer leads to the member

_ALIGNMENT = 512  # of each part, in bytes


@dataclass(frozen=True)
class Layout:
    """The sizes that all members of a context agree on; offsets follow from them.

    Parameters
    ----------
    world : members, 1 to ``MOST_MEMBERS``.
    bytes : for tensors, on each member.
    blocks : the most programs of one launch that meet their like on other members.
    slots : signals.
    nodes : hosts, each with as many members, the first ones on the first. Between them NVSHMEM carries what is sent.
    stage_bytes : for each program, what a tile takes at most that is sent to another node in one piece.
    """

    world: int
    bytes: int
    blocks: int = 1024
    slots: int = 1024
    nodes: int = 1
    stage_bytes: int = 0

    @property
    def offsets(self) -> dict[int, int]:
        """Bytes from a region's start, by the word of the table that says it."""
        meetings = 4 * self.blocks * self.world
        sizes = {
            ARRIVALS: meetings,
            EXPECTED: meetings,
            SIGNALS: 4 * self.slots,
            FAULT: 8,
            CLOCK: 8,
            STAGES: self.stage_bytes * self.blocks,
        }
        found, at = {}, 0
        for word, size in sizes.items():
            found[word] = at
            at += -(-size // _ALIGNMENT) * _ALIGNMENT
        return {**found, TENSORS: at}

    @property
    def region_bytes(self) -> int:
        """Bytes of each member's region, whose control part is zero at first."""
        return self.offsets[TENSORS] + -(-self.bytes // _ALIGNMENT) * _ALIGNMENT

    def table(
        self,
        rank: int,
        heaps: Sequence[int],
        report: int,
        time_limit: float,
        multicast: int = 0,
        shares_memory: bool = True,
    ) -> list[int]:
        """A member's table, as ``TABLE_WORDS`` integers.

        ``heaps`` are the addresses of all regions as this member reaches them, ``report`` that of its own report of
        ``REPORT_WORDS`` zeros, ``time_limit`` is in seconds. ``shares_memory`` is False of nodes that are simulated as
        such that no pointer reaches.
        """
        words = [0] * TABLE_WORDS
        words[VERSION_WORD], words[RANK], words[WORLD] = VERSION, rank, self.world
        words[BYTES], words[BLOCKS], words[SLOTS] = self.region_bytes, self.blocks, self.slots
        words[TIME_LIMIT], words[MULTICAST], words[REPORT] = int(time_limit * 1e9), multicast, report
        for word, offset in self.offsets.items():
            words[word] = offset
        words[PER_NODE], words[STAGE_BYTES] = self.world // self.nodes, self.stage_bytes
        words[SHARES_MEMORY] = int(shares_memory)
        words[HEAPS : HEAPS + self.world] = heaps
        return words
