"""An elementwise operation as a loop over vectors in memory, for what registers cannot have and for whole kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tle_raw.adapters.cpp.source_lines import at_its_line
from tle_raw.adapters.pycuda.arguments import PycudaArgument
from tle_raw.adapters.pycuda.declare import COMPLEX_HEADER, Recipe, declare_text, generated_options
from tle_raw.adapters.pycuda.element_uses import INDEX, LOOP_NAMES
from tle_raw.errors import Row, SignatureError, SourceLocation

if TYPE_CHECKING:
    from tle_raw.fragments.fragment import Fragment

SYMBOL = "tle_raw_over_memory"
COUNT = "n"


@dataclass(frozen=True)
class Loop:
    """The texts of one ElementwiseKernel, as PyCUDA takes them."""

    name: str
    arguments: tuple[PycudaArgument, ...]
    operation: str
    preamble: str
    before: str
    after: str
    options: Any
    location: SourceLocation

    def region(self) -> Fragment:
        """The fragment: it takes the operation's arguments, and behind them ``n``, as Triton has a number: 32 bits.

        Raises
        ------
        SignatureError : an argument has a name of the loop's own.
        """
        return self._declared("int", Recipe(self.whole))

    def whole(self) -> Any:
        """The same for a launch of its own, where ``n`` may have 64 bits."""
        return self._declared("unsigned long", None)

    def _declared(self, count: str, recipe: Recipe | None) -> Fragment:
        taken = next((a.name for a in self.arguments if a.name in (*LOOP_NAMES, INDEX)), "")
        if taken:
            raise SignatureError(
                f"an argument has the name `{taken}`, which is the loop's own",
                table=[Row(taken, "another name", taken)],
            ).at(fragment=self.name, source=self.location)
        text = "\n".join(_text(self, count))
        return declare_text(self.name, text, SYMBOL, None, generated_options(self.options), self.location, recipe)


def _text(loop: Loop, count: str) -> Iterator[str]:
    yield from headers(loop.arguments, (loop.preamble, loop.operation, loop.before))
    yield at_its_line(loop.preamble, loop.location)
    parameters = [*map(_parameter, loop.arguments), f"{count} {COUNT}"]
    yield f"__global__ void {SYMBOL}({', '.join(parameters)}) {{"
    yield f"  const unsigned long tle_raw_count = {COUNT} > 0 ? {COUNT} : 0;"
    # All blocks of the launch share the elements, whatever their shape and that of the grid.
    yield "  const unsigned long tid = tle::pycuda::thread();"
    yield "  const unsigned long cta_start = tle::pycuda::block() * tle::pycuda::threads();"
    yield "  const unsigned long total_threads = tle::pycuda::blocks() * tle::pycuda::threads();"
    yield f"  unsigned long {INDEX}; (void)tid; (void)cta_start; (void)total_threads;"
    yield at_its_line(loop.before, loop.location) + ";"
    yield f"  for ({INDEX} = cta_start + tid; {INDEX} < tle_raw_count; {INDEX} += total_threads) {{"
    yield at_its_line(loop.operation, loop.location)
    yield "; }"
    yield at_its_line(loop.after, loop.location) + ";"
    yield "}"


def headers(arguments: Sequence[PycudaArgument], texts: Sequence[str]) -> Iterator[str]:
    """What the arguments and the texts need; PyCUDA's own header only where they name it."""
    for header in sorted({a.dtype.header for a in arguments if a.dtype.header}):
        yield f"#include <{header}>"
    if any("pycuda::" in text for text in (*texts, *(a.type for a in arguments))):
        yield COMPLEX_HEADER
    yield "#include <tle_raw/pycuda.h>"


def _parameter(argument: PycudaArgument) -> str:
    const = "const " if argument.is_const else ""
    return f"{const}{argument.type}{'*' if argument.is_vector else ''} {argument.name}"
