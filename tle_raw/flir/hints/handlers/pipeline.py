"""``pipeline``: the region of a fragment's call runs ahead of what uses its tiles, as by ``call(…, hint="pipeline")``.

The call itself reads the comment while it is traced, by ``asks_for`` in `places.py`: here is only seen that it did.
"""

from __future__ import annotations

from tle_raw.flir.hints.operation import HintedOperation

PIPELINE = "pipeline"


class Pipeline:
    """See the file."""

    name: str = PIPELINE
    also = ()
    operations = ("tt.extern_elementwise",)
    targets = ("cuda",)

    def expected(self, value: str) -> str:
        return "no value" if value else ""

    def proof(self, target: str, value: str) -> str:
        return ""

    def apply(self, operation: HintedOperation, value: str) -> str:
        if PIPELINE in operation.module.lines[operation.number]:
            return ""
        return "it stands at no call of a fragment that is linked"
