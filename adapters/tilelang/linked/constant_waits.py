"""Makes every wait for asynchronous copies one that TileLang can print."""

from __future__ import annotations

from typing import Any

from tle_raw.adapters.tilelang.tir_types import Call

_WAIT = "tirx.ptx_wait_group"


def constant_waits(device_module: Any) -> Any:
    """A module in which a wait for a number of copies that is no constant waits for all of them.

    TileLang's code generator takes constants only, and fails on the last rounds of a pipelined loop whose length is
    known at run time alone. There, waiting for more than is needed costs next to nothing.
    """
    import tvm
    from tvm import tirx

    def wait_for_all(call: Call) -> Any:
        if str(call.op.name) != _WAIT or isinstance(call.args[0], tirx.IntImm):
            return None
        return tirx.Call(call.dtype, call.op, [tirx.IntImm("int32", 0)])

    changed = {}
    for name, function in device_module.functions.items():
        body = tirx.stmt_functor.ir_transform(function.body, None, wait_for_all, ["tirx.Call"])
        changed[name] = function.with_body(body)
    return tvm.IRModule(changed)
