"""Turns a module of any MLIR binding into text, told by what it can do and never by its class."""

from __future__ import annotations

import base64
import importlib
import io
import re
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tle_raw.adapters.mlir.child import ask
from tle_raw.errors import FragmentSourceError, TLEError

BYTECODE = b"ML\xefR"
# The distribution that an import name comes from.
_DISTRIBUTIONS = {
    "torch_mlir": "torch-mlir", "jaxlib": "jaxlib", "iree": "iree-base-compiler", "cutlass": "nvidia-cutlass-dsl",
    "xdsl": "xdsl", "triton": "triton", "mlir": "mlir",
}  # fmt: skip


@dataclass(frozen=True)
class ModuleText:
    """A module's text, and who printed it: "jaxlib 0.10.2 (MLIR 23.0.0git)", or "" for what was written by hand."""

    text: str
    producer: str = ""


def is_module(value: object) -> bool:
    """Whether ``read_module`` can print an object that is no text."""
    if isinstance(value, (str, bytes, bytearray, type)):
        return False
    operation = getattr(value, "operation", value)
    return callable(getattr(operation, "get_asm", None)) or _is_libtritons(value) or _is_xdsls(value)


def read_module(value: Any) -> ModuleText:
    """The text of a module, of an operation, or of bytecode; text is taken as it is.

    Raises
    ------
    FragmentSourceError : it is none of them, or its binding cannot print it.
    """
    if isinstance(value, str):
        return ModuleText(value)
    if isinstance(value, (bytes, bytearray)):
        return _from_bytes(bytes(value))
    operation = getattr(value, "operation", value)
    try:
        if callable(getattr(operation, "get_asm", None)):
            # The generic form is what survives another version's parser.
            text = operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
            return ModuleText(text, _producer(value, operation))
        if _is_libtritons(value):
            return ModuleText(value.str_nodebug(), _producer(value))
        if _is_xdsls(value):
            return ModuleText(_print_xdsl(value), _producer(value))
    except Exception as error:  # whatever a binding raises
        raise FragmentSourceError(f"{_producer(value)} cannot print the module: {error}") from error
    raise FragmentSourceError(
        f"no MLIR can be read from a {type(value).__module__}.{type(value).__qualname__}",
        hint="pass an ir.Module, an operation, MLIR text or bytecode",
    )


def _is_libtritons(value: object) -> bool:
    return callable(getattr(value, "str_nodebug", None))


def _is_xdsls(value: object) -> bool:
    return any(base.__module__ == "xdsl.ir.core" and base.__name__ == "Operation" for base in type(value).__mro__)


def _print_xdsl(value: Any) -> str:
    # Not an import: an xDSL object means that its own printer is loaded or loadable from where it came.
    printer = sys.modules.get("xdsl.printer")
    if printer is None:
        printer = importlib.import_module("xdsl.printer")
    stream = io.StringIO()
    printer.Printer(stream=stream, print_generic_format=True).print_op(value)
    return stream.getvalue()


def _producer(value: object, operation: Any = None) -> str:
    """Name and version of the binding, with its MLIR's own version, which its bytecode tells."""
    root = type(value).__module__.partition(".")[0].lstrip("_")
    distribution = _DISTRIBUTIONS.get(root, root)
    try:
        name = f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        name = distribution
    mlir = _mlir_version(operation) if operation is not None else ""
    return f"{name} ({mlir})" if mlir else name


def _mlir_version(operation: Any) -> str:
    stream = io.BytesIO()
    try:
        operation.write_bytecode(stream)
    except Exception:  # not all can
        return ""
    return producer_of(stream.getvalue())


def producer_of(bytecode: bytes) -> str:
    """What the header of bytecode says: "MLIR 23.0.0git"."""
    match = re.match(rb"ML\xefR.{1,2}?(MLIR[\w.+-]*)\0", bytecode, re.DOTALL)
    return match[1].decode("ascii", "replace").replace("MLIR", "MLIR ", 1) if match else ""


def _from_bytes(data: bytes) -> ModuleText:
    if not data.startswith(BYTECODE):
        try:
            return ModuleText(data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise FragmentSourceError("the source is neither MLIR text nor MLIR bytecode") from None
    producer = producer_of(data)
    try:
        answer = ask({"task": "print", "bytecode": base64.b64encode(data).decode()})
    except TLEError as error:
        raise FragmentSourceError(
            f"the bytecode cannot be read: {error.message}",
            log=error.log,
            hint=f"it was written by {producer or 'an unknown MLIR'}; print text instead, or write bytecode with "
            "desired_version=1",
        ) from error
    return ModuleText(answer["text"], producer)
