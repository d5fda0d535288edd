"""What of TVM's TIR the adapter uses, as types: its nodes have no annotations, and differ from release to release.

``__getattr__`` stands for the fields of the many kinds of nodes, which the code tells apart by their class's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Node(Protocol):
    """Any node of a program."""

    def __getattr__(self, name: str) -> Any: ...


class Expression(Node, Protocol):
    """A PrimExpr."""

    @property
    def dtype(self) -> Any:
        """As TVM spells it, such as ``float16x2``."""


class Variable(Expression, Protocol):
    """A Var: a loop's, a thread's, or a parameter."""

    @property
    def name(self) -> str:
        """As in the source; not unique."""


class Call(Expression, Protocol):
    """A call of an intrinsic or of an extern function."""

    @property
    def op(self) -> Any:
        """What is called."""

    @property
    def args(self) -> Sequence[Any]:
        """The arguments: expressions, texts, boxes of buffers."""


class Buffer(Protocol):
    """Memory with a shape: a parameter, shared memory, or a fragment in registers."""

    @property
    def name(self) -> str:
        """As in the source; not unique."""

    @property
    def data(self) -> Any:
        """The variable that all views of one memory share."""

    @property
    def shape(self) -> Sequence[Any]:
        """Elements along each dim: constants or expressions."""

    @property
    def strides(self) -> Sequence[Any]:
        """Elements between neighbours along each dim; empty where it is contiguous."""

    @property
    def dtype(self) -> Any:
        """As TVM spells it."""

    def scope(self) -> str:
        """``global``, ``shared``, ``shared.dyn`` or ``local.fragment``, …"""

    def __getattr__(self, name: str) -> Any: ...


class PrimFunc(Protocol):
    """A function of TIR: a TileLang program."""

    @property
    def params(self) -> Sequence[Any]:
        """Its parameters' variables."""

    @property
    def buffer_map(self) -> Mapping[Any, Buffer]:
        """The buffers behind those parameters that are arrays."""

    @property
    def body(self) -> Any:
        """Its one statement."""

    @property
    def attrs(self) -> Any:
        """Its attributes; None where it has none."""

    def __getattr__(self, name: str) -> Any: ...
