"""Put the block barriers around the calls that asked for them, once the software pipeliner is done."""

from __future__ import annotations

from tle_raw.flir.nvidia.mlir_text import OPERATION, read_operation
from tle_raw.flir.nvidia.replace_ports import AFTER, AROUND


def insert_barriers(lines: list[str], barrier: str) -> str:
    """The module's text with barriers.

    Triton's own barrier pass, which runs later, sees these and adds none beside them; it does not see that the call
    itself touches shared memory.
    """
    result = []
    for line in lines:
        note = _note(line)
        if not note:
            result.append(line)
            continue
        operation = read_operation(line)
        inserted = operation.indent + barrier + operation.location
        call = line.replace(f'libname = "{note}"', 'libname = ""', 1)
        result += [inserted, call, inserted] if note == AROUND else [call, inserted]
    return "\n".join(result)


def _note(line: str) -> str:
    if OPERATION not in line:
        return ""
    return next((note for note in (AROUND, AFTER) if f'libname = "{note}"' in line), "")
