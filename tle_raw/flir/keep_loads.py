"""In a kernel that points into shared buffers each load is one of its own.

Of two equal loads newer versions of Triton, 3.8 and 3.9, leave one where nothing between them writes to memory of the
same kind. But what Triton takes for global memory may be a buffer here, and the other way round: a store by a pointer
changes what a load of the buffer reads. So each load gets a number, and no two are equal. Functions are inlined first,
for what is inlined twice would have one number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from triton._C.libtriton import ir, passes

from tle_raw.linker.mlir.generic_operation import generic_name, read_generic
from tle_raw.regions.stages import has_pointers
from tle_raw.triton_version import VERSION

TOLD = "tle.told"  # on what asks a buffer for its address
NUMBER = "tle.load"
_LOADS = ("tt.load", "ttg.local_load")
_NUMBERED = re.compile(rf" \{{{re.escape(NUMBER)} = \d+ : i32\}}")
_PLAIN = re.compile(rf'[^"]*"[\w.]+"\([^)]*\)(?: <\{{[^{{}}"(]*\}}>)?(?:{_NUMBERED.pattern})? : \([^()"]*\) -> .*')
_LEAVES_OUT_LOADS = VERSION >= (3, 7)


def keep_loads(module: Any) -> Any:
    """A module of Triton IR that was just traced, with its loads numbered; as it is, where it points into no buffer."""
    if not _LEAVES_OUT_LOADS or not has_pointers():
        return module
    manager = ir.pass_manager(module.context)
    passes.common.add_inliner(manager)
    manager.run(module, "tle_raw_inline")
    _number(module)
    return module


def _number(module: Any) -> None:
    """In place: as text a large module takes a tenth of a second."""
    builder, found = ir.builder(module.context), 0

    def see(operation: Any) -> None:
        nonlocal found
        if operation.get_name() in _LOADS and operation.get_str_attr(TOLD) is None:
            operation.get_result(0).set_attr(NUMBER, builder.get_int32_attr(found))
            found += 1

    module.walk(see)


def number_loads(lines: Sequence[str]) -> list[str]:
    """The lines of a module in generic form, whose loads have numbers, other ones than before."""
    return [
        _numbered(line, number) if 'load"(' in line and generic_name(line) in _LOADS and TOLD not in line else line
        for number, line in enumerate(lines)
    ]


def _numbered(line: str, number: int) -> str:
    """Nearly every load has properties and, at most, a number."""
    if _PLAIN.fullmatch(line):
        begin, _, end = _NUMBERED.sub("", line).partition(" : (")
        return f"{begin} {{{NUMBER} = {number} : i32}} : ({end}"
    load = read_generic(line).without_attribute(NUMBER)
    attributes = ", ".join(filter(None, (load.attributes, f"{NUMBER} = {number} : i32")))
    return str(load._replace(attributes=attributes))
