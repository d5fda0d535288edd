"""What a hint means: the protocol of its handler, and the handlers that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tle_raw.flir.hints.handlers.eviction import Eviction
from tle_raw.flir.hints.handlers.loops import NUM_STAGES, UNROLL
from tle_raw.flir.hints.handlers.pipeline import Pipeline
from tle_raw.flir.hints.handlers.shared_memory import SharedMemory
from tle_raw.flir.hints.handlers.stream import Stream
from tle_raw.flir.hints.handlers.vectorise import Vectorise
from tle_raw.flir.hints.operation import HintedOperation
from tle_raw.registry import Registry, offerer


class HintHandler(Protocol):
    """The meaning of one name in ``#@hint: name`` or ``#@hint: name=value``.

    Third parties add theirs by the entry-point group ``tle_raw.hints``, each a class that is made without arguments,
    or for a process by ``tle_raw.flir.hints.handler.register_hint``.

    Attributes
    ----------
    name : in comments; ``also`` are other spellings of it.
    operations : the names of the operations of Triton IR that it may stand at; ``scf.for`` and ``scf.while`` are loops.
    targets : ``cuda``, ``cpu``, … On others it has no effect, and the report says so.
    """

    @property
    def name(self) -> str: ...
    @property
    def also(self) -> Sequence[str]: ...
    @property
    def operations(self) -> Sequence[str]: ...
    @property
    def targets(self) -> Sequence[str]: ...

    def expected(self, value: str) -> str:
        """What the value should be, in a few words, where this one is none; "" where it is right."""

    def proof(self, target: str, value: str) -> str:
        """A regular expression for opcodes that the PTX of its lines, or a CPU's assembly, holds where it had an
        effect; "" where nothing shows it.
        """

    def apply(self, operation: HintedOperation, value: str) -> str:
        """Edit the operation; "" or, in a few words, why the hint has no effect on it."""


HINTS: Registry[HintHandler] = Registry("tle_raw.hints", "hint", "the handler of the hint")
OWN: tuple[HintHandler, ...] = (SharedMemory(), Pipeline(), NUM_STAGES, UNROLL, Eviction(), Vectorise(), Stream())
for each in OWN:
    HINTS.register(each)

register_hint, known_hints = HINTS.register, HINTS.names


def find_handler(name: str) -> HintHandler | None:
    """That of a name or another spelling of it; None where nobody knows the name.

    Raises
    ------
    ToolchainError : the package that offers it cannot be imported, or several offer it.
    """
    for handler in HINTS.registered():
        if name == handler.name or name in handler.also:
            return handler
    return HINTS.find(name) if HINTS.offered(name) else None


def passed_over(name: str) -> list[str]:
    """The packages that offer a hint of a name, or another spelling, of one of this package's, which is used."""
    own = any(name == handler.name or name in handler.also for handler in HINTS.registered() if handler in OWN)
    return [offerer(point) for point in HINTS.offered(name)] if own else []
