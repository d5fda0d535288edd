"""The barrier at which products into tensor memory arrive when they are done."""

from __future__ import annotations

from typing import Any

from tle_raw.frontends.gpu import operations
from tle_raw.frontends.gpu.barrier_value import Account, barrier_type
from tle_raw.frontends.gpu.operations import perform
from tle_raw.regions.stages import compiled_target


def barrier_of_products(semantic: Any, generator: Any) -> Any:
    """Its memory, beside the accumulator's; None where products are done at once.

    It is there before the first product begins: memory that is found for it later could be that of an operand, whose
    last use Triton sees where the product begins.
    """
    if generator is None or compiled_target() != "cuda":
        return None
    type_ = barrier_type(0, 1, False, 0, None, Account(), generator.context)
    return perform(operations.BARRIER_MEMORY, semantic, generator, type_)
