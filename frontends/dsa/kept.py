"""Operations of ``tle.dsa`` that stay what they are in Triton IR, for a target that has them.

Each is a call of a declared function, ``tle.dsa.<operation>{<constants>}#<n>``: the constants are JSON, and n tells
apart declarations of one operation with other types.
"""

from __future__ import annotations

import json
from typing import Any

PREFIX = "tle.dsa."


def keep(
    operation: str, constants: dict[str, Any], operands: list[Any], results: list[Any], semantic: Any, generator: Any
) -> list[Any]:
    """Write one.

    Parameters
    ----------
    operands, results : handles, and the types that come back, as MLIR's.

    Returns
    -------
    The results' handles.
    """
    builder, module = semantic.builder, generator.module
    type_ = builder.get_function_ty([operand.get_type() for operand in operands], results)
    number, name = 0, ""
    while not name or module.has_function(name):
        name = f"{PREFIX}{operation}{json.dumps(constants)}#{number}"
        number += 1
    call = builder.call(builder.get_or_insert_function(module, name, type_, "private", False), operands)
    return [call.get_result(index) for index in range(len(results))]
