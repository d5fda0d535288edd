"""What one release of the kernel API calls an operation, and in which header it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tle_raw.errors import LoweringError, Row, UnsupportedFeatureError
from tle_raw.targets.tenstorrent.kernel_api.operations import OPERATIONS, Operation, Unit, operation

# From arguments and template arguments, as C++ expressions, to the call.
Spelling = Callable[[Sequence[str], Sequence[str]], str]

DATAFLOW_HEADER = "api/dataflow/dataflow_api.h"
COMPUTE_HEADER = "api/compute/common.h"
_WITHOUT_OWN_HEADER = {Unit.BUFFERS, Unit.REGISTERS}


@dataclass(frozen=True)
class Release:
    """A release of the kernel API.

    Parameters
    ----------
    name : of the ``ttnn`` wheel, "0.81.1".
    headers : the header of each operation of a compute kernel.
    spellings : the operations that are not called as the table of operations has them.
    missing : the operations that it lacks, and why.
    accessor_words : compile-time words of an accessor of an interleaved tensor.
    """

    name: str
    headers: Mapping[str, str]
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    accessor_words: int = 2

    def spell(self, name: str, arguments: Sequence[str] = (), templates: Sequence[str] = ()) -> str:
        """The call in C++, without a semicolon.

        Parameters
        ----------
        name : of an operation.
        arguments : C++ expressions in the order of its parameters; optional ones at the end may be missing.
        templates : C++ expressions in the order of its template parameters, or none for the defaults.

        Raises
        ------
        LoweringError : there is no such operation, or it takes another number of arguments.
        UnsupportedFeatureError : this release lacks it.
        """
        known = operation(name)
        self._check(known)
        _check_count(known, arguments, templates)
        return self.spellings.get(name, called(name))(arguments, templates)

    def header(self, name: str, *, compute: bool) -> str:
        """The header that a kernel which calls an operation includes.

        Raises
        ------
        UnsupportedFeatureError : this release lacks it.
        """
        known = operation(name)
        self._check(known)
        if not compute:
            return DATAFLOW_HEADER
        return COMPUTE_HEADER if known.unit in _WITHOUT_OWN_HEADER else f"api/compute/{self.headers[name]}"

    def has(self, name: str) -> bool:
        """Whether an operation can be called."""
        return operation(name).name not in self.missing

    def _check(self, known: Operation) -> None:
        if known.name in self.missing:
            raise UnsupportedFeatureError(
                f"release {self.name} of the Tenstorrent kernel API has no {known.name}: {self.missing[known.name]}",
                hint="compile for release 0.81.1, the default",
            )


def called(function: str, *templates: str) -> Spelling:
    """A spelling that differs in its name, or in template arguments that are always given."""

    def spell(arguments: Sequence[str], given: Sequence[str]) -> str:
        inside = ", ".join([*templates, *given])
        return f"{function}{f'<{inside}>' if inside else ''}({', '.join(arguments)})"

    return spell


def swapped(function: str) -> Spelling:
    """For releases without ``SrcOrder``: with ``SrcOrder::Reverse`` the first two arguments change places."""

    def spell(arguments: Sequence[str], given: Sequence[str]) -> str:
        first, second, *others = arguments
        ordered = [second, first] if "SrcOrder::Reverse" in given else [first, second]
        return f"{function}({', '.join([*ordered, *others])})"

    return spell


def of_compute() -> tuple[str, ...]:
    """The operations that need a header of their own in a compute kernel."""
    return tuple(name for name, each in OPERATIONS.items() if each.unit not in (Unit.DATAFLOW, *_WITHOUT_OWN_HEADER))


def _check_count(known: Operation, arguments: Sequence[str], templates: Sequence[str]) -> None:
    most = len(known.parameters)
    if not most - known.optional <= len(arguments) <= most:
        expected = ", ".join(known.parameters) or "nothing"
        raise LoweringError(
            f"{known.name} of the Tenstorrent kernel API takes other arguments",
            table=[Row("arguments", expected, ", ".join(arguments) or "nothing")],
        )
    if len(templates) not in (0, len(known.templates)):
        expected = ", ".join(known.templates) or "none"
        raise LoweringError(
            f"{known.name} of the Tenstorrent kernel API takes other template arguments",
            table=[Row("template arguments", expected, ", ".join(templates))],
        )
