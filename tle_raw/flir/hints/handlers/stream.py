"""``stream`` and ``stream=never``, of CPUs: whether stores go past the caches, whatever the launch writes.

Without it a launch whose arrays are larger than the last cache does so: see ``flir/cpu/stream_stores.py``.
"""

from __future__ import annotations

from tle_raw.flir.hints.operation import HintedOperation
from tle_raw.flir.hints.told import ALWAYS, NEVER, STORES

PAST_CACHES = r"\bv?movnt|\bstnp"  # in assembly


class Stream:
    """For what is written and not read soon, or with ``never`` for what the next kernel reads at once.

    One of a kernel's stores says it for all that can go past the caches: those of whole cache lines, in kernels that
    neither synchronise programs nor run code of others.
    """

    name, also = "stream", ("nontemporal",)
    operations = ("tt.store",)
    targets = ("cpu",)

    def expected(self, value: str) -> str:
        return "" if value in ("", ALWAYS, NEVER) else f"nothing, {ALWAYS} or {NEVER}"

    def proof(self, target: str, value: str) -> str:
        return "" if value == NEVER else PAST_CACHES

    def apply(self, operation: HintedOperation, value: str) -> str:
        return tell_stores(operation, value or ALWAYS)


def tell_stores(operation: HintedOperation, how: str) -> str:
    """Tell the launcher; the reason why not, where another hint of the kernel has told it something else."""
    told = operation.module.told.setdefault(STORES, how)
    return "" if told == how else f"another store of the kernel says {told}"
