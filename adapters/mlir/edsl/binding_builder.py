"""Builds a module in an installed MLIR binding, so that the builders of its dialects can be called on the way."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from tle_raw.errors import ToolchainError


class BindingBuilder:
    """A :class:`Builder` over the ``ir`` of a binding. It is a context manager: the binding's context is current.

    Raises
    ------
    ToolchainError : the binding is not installed.
    """

    def __init__(self, root: str) -> None:
        self.route = root
        try:
            self.ir: Any = importlib.import_module(f"{root}.ir")
        except ImportError as error:
            raise ToolchainError(
                f"the MLIR bindings {root!r} cannot be imported: {error}", hint="pip install 'tle_raw[mlir]'"
            ) from error
        self.context = self.ir.Context()
        self._stack = ExitStack()
        self._types: dict[str, Any] = {}
        self._attributes: dict[str, Any] = {}
        self._location: Any = None
        self._locations: dict[tuple[str, int, int], Any] = {}

    def __enter__(self) -> BindingBuilder:
        self._stack.enter_context(self.context)
        self._location = self.ir.Location.unknown(self.context)
        self._module = self.ir.Module.create(self._location)
        self._points: list[Any] = []
        self._push(self._module.body)
        return self

    def __exit__(self, *error: Any) -> None:
        while self._points:
            self._pop()
        self._stack.close()

    def _push(self, block: Any) -> None:
        """The point, and a location for what the dialects' builders make there by themselves."""
        point = self.ir.InsertionPoint(block)
        point.__enter__()
        self._location.__enter__()
        self._points.append((point, self._location))

    def _pop(self) -> None:
        for manager in reversed(self._points.pop()):
            manager.__exit__(None, None, None)

    @property
    def current(self) -> Any:
        return self.ir.InsertionPoint.current.block

    @property
    def location(self) -> Any:
        """For the builders of the dialects, which take the current location."""
        return self._location

    def locate(self, location: tuple[str, int, int]) -> None:
        found = self._locations.get(location)
        if found is None:
            found = self._locations[location] = self.ir.Location.file(*location, self.context)
        self._location = found

    def type(self, text: str) -> Any:
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = self.ir.Type.parse(text, self.context)
        return found

    def attribute(self, text: str) -> Any:
        found = self._attributes.get(text)
        if found is None:
            found = self._attributes[text] = self.ir.Attribute.parse(text, self.context)
        return found

    def region(self) -> Any:
        """The region of an operation that is in no block: its blocks move to where ``create`` puts them."""
        return self.ir.Operation.create("scf.execute_region", regions=1, loc=self._location, ip=False)

    def block(self, region: Any, types: Sequence[str] = ()) -> Any:
        blocks = region.regions[0].blocks
        arguments = [self.type(text) for text in types]
        locations = [self._location] * len(arguments)
        if len(blocks):
            return blocks[len(blocks) - 1].create_after(*arguments, arg_locs=locations)
        return self.ir.Block.create_at_start(region.regions[0], arguments, locations)

    def arguments(self, block: Any) -> list[Any]:
        return list(block.arguments)

    @contextmanager
    def inside(self, block: Any) -> Iterator[None]:
        self._push(block)
        try:
            yield
        finally:
            self._pop()

    def move_to(self, block: Any) -> None:
        self._pop()
        self._push(block)

    @contextmanager
    def at_start(self, block: Any) -> Iterator[None]:
        with self.ir.InsertionPoint.at_block_begin(block):
            yield

    def at_top(self) -> AbstractContextManager[None]:
        return self.inside(self._module.body)

    def create(
        self,
        name: str,
        operands: Sequence[Any] = (),
        results: Sequence[str] = (),
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[Any] = (),
        successors: Sequence[Any] = (),
    ) -> Sequence[Any]:
        operation = self.ir.Operation.create(
            name,
            results=[self.type(text) for text in results],
            operands=list(operands),
            attributes={key: self.attribute(text) for key, text in (attributes or {}).items()},
            successors=list(successors) or None,
            regions=len(regions),
            loc=self._location,
        )
        for holder, region in zip(regions, operation.regions):
            for block in list(holder.regions[0].blocks):
                block.append_to(region)
        return list(operation.results)

    def text(self) -> str:
        printed: str = self._module.operation.get_asm(
            print_generic_op_form=True, enable_debug_info=True, assume_verified=True
        )
        return printed

    def verify(self) -> None:
        """Raises the binding's ``MLIRError`` with its diagnostics when an operation is wrong."""
        self._module.operation.verify()
