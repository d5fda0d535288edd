"""Makes modules with the MLIR bindings that are installed, each in its own way."""

from __future__ import annotations

import importlib
from typing import Any

import pytest


def torch_mlir(text: str) -> Any:
    return _parse("torch_mlir", text)


def jaxlib(text: str) -> Any:
    """jaxlib must be told to register its dialects."""
    pytest.importorskip("jaxlib")
    ir = importlib.import_module("jaxlib.mlir.ir")
    extension = importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    registry = ir.DialectRegistry()
    extension.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    with context:
        return ir.Module.parse(text)


def iree(text: str) -> Any:
    pytest.importorskip("iree.compiler")
    return _parse("iree.compiler", text)


def xdsl(text: str) -> Any:
    pytest.importorskip("xdsl")
    from xdsl.context import Context
    from xdsl.dialects import get_all_dialects
    from xdsl.parser import Parser

    context = Context(allow_unregistered=True)
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)
    return Parser(context, text).parse_module()


def libtriton(text: str) -> Any:
    """Triton's own module: it prints the custom form."""
    from tle_raw.adapters.mlir import libtriton as route

    return route.parse(text, route.new_context())


def as_text(text: str) -> str:
    return text


def as_generic_text(text: str) -> str:
    return torch_mlir(text).operation.get_asm(print_generic_op_form=True)


def as_bytecode(text: str) -> bytes:
    """In the newest form, which no Triton reads."""
    import io

    stream = io.BytesIO()
    torch_mlir(text).operation.write_bytecode(stream)
    return stream.getvalue()


def _parse(root: str, text: str) -> Any:
    ir = importlib.import_module(f"{root}.ir")
    with ir.Context():
        return ir.Module.parse(text)
