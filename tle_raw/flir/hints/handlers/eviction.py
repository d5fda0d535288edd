"""``eviction=``: how soon the caches may forget what a load reads or a store writes."""

from __future__ import annotations

import re

from tle_raw.flir.hints.handlers.stream import PAST_CACHES, tell_stores
from tle_raw.flir.hints.operation import HintedOperation
from tle_raw.flir.hints.told import ALWAYS, NEVER

# The numbers of Triton's enumeration, in the generic form of its operations.
POLICIES = {"normal": 1, "evict_first": 2, "evict_last": 3}
_NUMBER = "evict"  # up to Triton 3.8; then a property that holds the cache modifier too, printed where it is not plain
_BOTH, _NEVER_TOLD = "cachePolicy", "#tt.cache_policy<cache_modifier = none, eviction_policy = normal>"
_POLICY = re.compile(r"eviction_policy = (\w+)")


class Eviction:
    """On a GPU the same as ``eviction_policy=`` of ``tl.load`` and ``tl.store``, which stays as it is where it says
    something. On a CPU stores that are forgotten first go past the caches, as with the hint ``stream``.
    """

    name, also = "eviction", ("evict", "eviction_policy")
    operations = ("tt.load", "tt.store")
    targets = ("cuda", "cpu")

    def expected(self, value: str) -> str:
        return "" if _plain(value) in POLICIES else " or ".join(POLICIES)

    def proof(self, target: str, value: str) -> str:
        if target != "cpu":
            return r"evict_|cache_hint"
        return PAST_CACHES if _plain(value) == "evict_first" else ""

    def apply(self, operation: HintedOperation, value: str) -> str:
        wanted = _plain(value)
        if wanted == "normal":
            return "normal is what an access has anyway"
        if operation.machine.target == "cpu":
            return _on_a_cpu(operation, wanted)
        access = operation.read()
        number = access.property(_NUMBER).split(" ")[0]
        both = access.property(_BOTH) or _NEVER_TOLD
        match = _POLICY.search(both)
        if access.property("cache").split(" ")[0] not in ("", "1") or "cache_modifier = none" not in both:
            return "the call has a cache_modifier, and PTX takes one of both"
        if number not in ("", str(POLICIES["normal"])) or (match and match[1] != "normal"):
            return "the call has an eviction_policy of its own"
        if number:
            operation.set_properties({_NUMBER: f"{POLICIES[wanted]} : i32"})
        elif match:
            operation.set_properties({_BOTH: _POLICY.sub(f"eviction_policy = {wanted}", both)})
        else:
            operation.set_properties({_BOTH: both.replace(">", f", eviction_policy = {wanted}>")})
        return ""


def _on_a_cpu(operation: HintedOperation, wanted: str) -> str:
    if operation.name != "tt.store":
        return "a CPU has no loads that are forgotten first or last"
    return tell_stores(operation, ALWAYS if wanted == "evict_first" else NEVER)


def _plain(value: str) -> str:
    return value.strip("\"'")
