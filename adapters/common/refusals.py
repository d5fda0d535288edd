"""Why one way of compiling or launching a kernel is refused, so that another one is taken."""

from __future__ import annotations

from tle_raw.errors import TLEError


def refusal(error: BaseException | None) -> str:
    """Why a kernel cannot be compiled, or has no room on the GPU; "" where it failed in another way."""
    from triton.errors import TritonError  # adapters load without Triton

    found = ""
    while error is not None:
        is_pass = isinstance(error, RuntimeError) and "PassManager" in str(error)
        if is_pass or isinstance(error, (TLEError, TritonError)):
            found = str(getattr(error, "message", None) or error).strip().splitlines()[-1]
        error = error.__cause__
    return found
