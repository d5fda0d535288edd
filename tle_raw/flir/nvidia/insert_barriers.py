"""Put the block barriers around the calls that asked for them, once the software pipeliner is done."""

from __future__ import annotations

import re

from tle_raw.flir.nvidia.replace_ports import MEMORY, NOTE, Spelling
from tle_raw.linker.mlir.text import OPERATION, read_operation

_NOTED = f'libname = "{NOTE}'
_NOTE = re.compile(rf'libname = "{re.escape(NOTE)}\.([a-z.]+)"')


def has_notes(lines: list[str]) -> bool:
    """Whether any call waits for barriers. As unlike as can be to how ``insert_barriers`` finds them."""
    return any(_NOTED in line for line in lines)


def insert_barriers(lines: list[str], spelling: Spelling) -> str:
    """The module's text with barriers.

    Triton's own barrier pass, which runs later, sees these and adds none beside them; it does not see that the call
    itself touches memory.
    """
    result = []
    for line in lines:
        note = _NOTE.search(line) if OPERATION in line else None
        if note is None:
            result.append(line)
            continue
        operation, words = read_operation(line), note[1].split(".")
        barrier = spelling.memory_barrier if MEMORY in words else spelling.barrier
        inserted = operation.indent + barrier + operation.location
        call = line.replace(note[0], 'libname = ""', 1)
        result += [inserted] * ("before" in words) + [call] + [inserted] * ("after" in words)
    return "\n".join(result)
