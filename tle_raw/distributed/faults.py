"""What a kernel reported of a wait that came to nothing, as an error."""

from __future__ import annotations

from collections.abc import Sequence

from tle_raw.errors import PeerError, Row
from tle_raw.frontends.distributed import context_layout as layout

_UNUSABLE = "counts of arrivals no longer agree: close the context on all members, and make another one"


def fault_of(report: Sequence[int], is_usable: bool = False) -> PeerError:
    """The error that a report of ``context_layout.REPORT_WORDS`` integers tells of; its kind is not zero.

    ``is_usable`` says that the context is not to be given up after it: its counts are made zero.
    """
    kind = report[layout.FAULT_KIND]
    rank, awaited, block = (report[word] for word in (layout.FAULT_RANK, layout.FAULT_AWAITED, layout.FAULT_BLOCK))
    slot, found, wanted = (report[word] for word in (layout.FAULT_SLOT, layout.FAULT_FOUND, layout.FAULT_WANTED))
    place = _text(report[layout.FAULT_PLACE : layout.REPORT_WORDS])
    where = f"in `{place}`, " if place else ""
    who = f"{where}device {rank}, program {block}"
    waited = "which did not come within the time limit"
    message, what, expected = {
        layout.AT_BARRIER: (f"waited at a barrier for device {awaited}, {waited}", "arrivals", str(wanted)),
        layout.AT_SIGNAL: (f"waited for signal {slot}, {waited}", f"signal {slot}", str(wanted)),
        layout.TOO_MANY_BLOCKS: ("the launch has more programs than the context", "programs", f"{wanted} at most"),
        layout.OTHER_WORLD: ("the kernel's mesh has other devices than the context", "devices", str(wanted)),
        layout.NO_SUCH_SLOT: ("the context has no such signal", "slot", f"0 to {wanted - 1}"),
        layout.NO_SUCH_MEMBER: ("the context has no such device", "peer", f"0 to {wanted - 1}"),
        layout.OTHER_NODES: ("the kernel's mesh has other nodes than the context", "devices of a node", str(wanted)),
        layout.NOT_REACHED: (
            f"no pointer reaches the memory of device {awaited}, which is on another node",
            "peer",
            "a device that shares memory with this one",
        ),
    }[kind]
    hint = {
        layout.AT_BARRIER: f"has device {awaited} failed, or launched another grid or kernel? ",
        layout.NOT_REACHED: "`tle.put`, `tle.get` and `tle.signal` go over the network; ",
    }.get(kind, "")
    return PeerError(
        f"{who}: {message}",
        table=[Row(what, expected, str(found))],
        hint=(hint + ("" if is_usable else _UNUSABLE)).rstrip("; "),
        rank=rank,
        awaited=awaited if awaited >= 0 else None,
        place=place,
    )


def _text(words: Sequence[int]) -> str:
    data = b"".join((word % (1 << 64)).to_bytes(8, "little") for word in words)
    return data.rstrip(b"\0").decode("ascii", "replace")
