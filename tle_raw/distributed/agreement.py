"""Members of a context do the same things in the same order: what each is about to do is compared."""

from __future__ import annotations

from typing import Protocol

from tle_raw.distributed.exchange import Exchange
from tle_raw.errors import ContextError, Row


class Agreement(Protocol):
    """One member's view of what all do."""

    def agree(self, what: str, value: str) -> None:
        """Say what this member does next; raises ContextError where another one does something else."""
        ...

    def leave(self) -> None:
        """The last thing that a member does."""
        ...


class among_processes:
    """Each step waits for all processes."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def agree(self, what: str, value: str) -> None:
        _compare([one.decode() for one in self._exchange.all_gather(f"{what}: {value}".encode())])

    def leave(self) -> None:
        self.agree("close", "yes")


def within_process(world: int) -> list[Agreement]:
    """Members of one process come one after the other: each is compared with the first that came to a step."""
    steps: list[tuple[int, str]] = []
    return [_OfOneProcess(rank, world, steps) for rank in range(world)]


class _OfOneProcess:
    def __init__(self, rank: int, world: int, steps: list[tuple[int, str]]) -> None:
        self._rank, self._world, self._steps, self._at = rank, world, steps, 0

    def agree(self, what: str, value: str) -> None:
        said = f"{what}: {value}"
        if self._at == len(self._steps):
            self._steps.append((self._rank, said))
        first, its = self._steps[self._at]
        self._at += 1
        if its != said:
            raise ContextError(
                "the members of a context do different things",
                table=[Row(f"member {self._rank}", f"{its} (member {first})", said)],
            )

    def leave(self) -> None:
        return


def _compare(said: list[str]) -> None:
    if len(set(said)) > 1:
        rows = [Row(f"member {rank}", said[0], one) for rank, one in enumerate(said)]
        raise ContextError("the members of a context do different things", table=rows)
