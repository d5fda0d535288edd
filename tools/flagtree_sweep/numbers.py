"""A test without what it asks of the compiler's own output, which is FlagTree's: what is left are its numbers."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

_OUTPUT = ("asm", "metadata")  # of a compiled kernel


def numbers_alone(script: Path, folder: Path) -> Path:
    """A copy in ``folder`` whose assertions about a kernel's ``asm`` and ``metadata`` are left out.

    Fixtures of ``conftest.py`` beside the script and above it are copied with it.
    """
    for above in reversed(script.parents):
        if (above / "conftest.py").is_file():
            shutil.copy(above / "conftest.py", folder)
    tree = _Numbers().visit(ast.parse(script.read_text()))
    copy = folder / script.name
    copy.write_text(ast.unparse(ast.fix_missing_locations(tree)))
    return copy


class _Numbers(ast.NodeTransformer):
    def __init__(self) -> None:
        self.of_output: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Names of compiled text are those of one function."""
        before, self.of_output = self.of_output, set()
        visited = self.generic_visit(node)
        self.of_output = before
        return visited

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if self._is_output(node.value):
            self.of_output |= {each.id for target in node.targets for each in ast.walk(target) if _is_name(each)}
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if self._is_output(node.test) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Of what a kernel for the CPU does not have, nothing."""
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Attribute) and node.value.attr == "asm" and isinstance(node.ctx, ast.Load)):
            return node
        get = ast.Attribute(node.value, "get", ast.Load())
        return ast.copy_location(ast.Call(get, [node.slice, ast.Constant("")], []), node)

    def _is_output(self, value: ast.expr) -> bool:
        return any(
            (isinstance(each, ast.Attribute) and each.attr in _OUTPUT) or (_is_name(each) and each.id in self.of_output)
            for each in ast.walk(value)
        )


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)
