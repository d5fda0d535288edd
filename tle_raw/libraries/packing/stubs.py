"""The Python text of a packed library: its module, and what type checkers and editors read."""

from __future__ import annotations

from collections.abc import Iterator

from tle_raw.fragments.parameter_types import Const, Parameter, Pointer, Scalar, Tile
from tle_raw.fragments.signature import Signature
from tle_raw.libraries.packing.manifest import Function, Manifest


def module_text(manifest: Manifest) -> str:
    """``__init__.py``."""
    names = "".join(f'    "{name}",\n' for name in sorted(f.name for f in manifest.functions))
    functions = "".join(f'{f.name} = _library.function("{f.name}")\n' for f in manifest.functions)
    return (
        f"{_docstring(manifest.summary or f'Intrinsics of {manifest.name}.')}\n\n"
        "# Written by `tle-raw pack`.\n"
        "from tle_raw.libraries.library import open_library as _open_library\n\n"
        "_library = _open_library(__file__)\n"
        f'__version__ = "{manifest.version}"\n'
        f"__all__ = [\n{names}]\n\n{functions}"
    )


def stub_text(manifest: Manifest) -> str:
    """``__init__.pyi``: one function a name, or one for each overload of other types, with its text."""
    stubs = [line for function in manifest.functions for line in _stub(function)]
    lines = [
        "# Written by `tle-raw pack`.",
        *(["from typing import overload", ""] if "@overload" in stubs else []),
        "import triton.language as tl",
        "",
        "__version__: str",
        "__all__: list[str]",
        "",
        *stubs,
    ]
    return "\n".join(lines).rstrip() + "\n"


def project_text(manifest: Manifest, needed: str) -> str:
    """``pyproject.toml``, ready for ``pip wheel``. ``needed`` is the oldest tle_raw that reads the library."""
    data = ["*.pyi", "py.typed", "*.json", "functions/*.json", "code/*.ll", "fitted/*.ll", "runtime/*.ll"]
    return (
        "# Written by `tle-raw pack`.\n"
        '[build-system]\nrequires = ["setuptools>=77"]\nbuild-backend = "setuptools.build_meta"\n\n'
        f'[project]\nname = "{manifest.name}"\nversion = "{manifest.version}"\n'
        f'description = {_quoted(manifest.summary)}\nrequires-python = ">=3.11"\n'
        f'dependencies = ["tle_raw>={needed}"]\n\n'
        f'[project.entry-points."tle_raw.libraries"]\n{manifest.name} = "{manifest.name}"\n\n'
        f'[tool.setuptools]\npackages = ["{manifest.name}"]\n\n'
        f"[tool.setuptools.package-data]\n{manifest.name} = [{', '.join(map(_quoted, data))}]\n"
    )


def _stub(function: Function) -> Iterator[str]:
    """One ``def`` for the overloads that type checkers cannot tell apart: a tensor of any dtype is ``tl.tensor``."""
    alike: dict[tuple[str, str], list[str]] = {}
    for overload in function.overloads:
        typed = ", ".join(_parameters(overload.signature)), _result(overload.signature)
        alike.setdefault(typed, []).append(str(overload.signature))
    for (parameters, result), signatures in alike.items():
        if len(alike) > 1:
            yield "@overload"
        line = f"def {function.name}({parameters}) -> {result}:"
        wrapped = (f"def {function.name}(", f"    {parameters}", f") -> {result}:")
        yield from (line,) if len(line) <= 120 else wrapped
        text = "\n".join([*([function.doc, ""] if function.doc else []), *signatures])
        yield from (f"    {line}".rstrip() for line in _docstring(text, "    ").splitlines())
        yield ""


def _parameters(signature: Signature) -> Iterator[str]:
    yield from (f"{p.name}: {_annotation(p)}" for p in signature.passed)
    outputs = [p for p in signature.parameters if not p.is_passed and isinstance(p.type, Tile)]
    taken = {p.name for p in signature.parameters}
    named = [n for n in signature.names if n not in taken]
    if not outputs and not named:
        return
    yield "*"
    if outputs:
        yield "shape: tuple[int, ...] | tuple[tuple[int, ...], ...] = ..."
    dtypes = {getattr(p.type, "dtype", None) for p in signature.parameters}
    yield from (f"{name}: {'tl.dtype' if name in dtypes else 'int'} = ..." for name in named)


def _annotation(parameter: Parameter) -> str:
    if isinstance(parameter.type, Const):
        return "int | tl.constexpr"
    if isinstance(parameter.type, Scalar):
        return "tl.tensor | int | float"
    return "tl.tensor | None" if isinstance(parameter.type, Pointer) else "tl.tensor"


def _result(signature: Signature) -> str:
    count = len(signature.returned) + (signature.result is not None)
    return "None" if not count else "tl.tensor" if count == 1 else f"tuple[{', '.join(['tl.tensor'] * count)}]"


def _docstring(text: str, indent: str = "") -> str:
    safe = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    safe = safe[:-1] + '\\"' if safe.endswith('"') else safe
    return f'"""{safe}"""' if "\n" not in safe else f'"""{safe}\n"""'


def _quoted(text: str) -> str:
    """As TOML writes a text."""
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 or c in '"\\' else c for c in text)
    return f'"{escaped}"'
