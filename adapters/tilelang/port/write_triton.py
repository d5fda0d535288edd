"""Writes the Triton file: for each PrimFunc a region, a kernel around it, its launch, and a check of its numbers."""

from __future__ import annotations

import json
import keyword
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tle_raw.adapters.common.compile_ahead import triton_types
from tle_raw.adapters.tilelang.port.candidates import BUILDER, JIT, TAKEN
from tle_raw.adapters.tilelang.port.config_values import spelled
from tle_raw.adapters.tilelang.port.examine import Examined
from tle_raw.adapters.tilelang.port.inputs import input_lines
from tle_raw.adapters.tilelang.port.load_script import Script
from tle_raw.adapters.tilelang.port.names import KERNELS, MODULE, spelled_names
from tle_raw.adapters.tilelang.port.packages import module_of
from tle_raw.adapters.tilelang.port.python_text import broken, dictionary, expression, literal, tuple_text
from tle_raw.adapters.tilelang.tir_types import Variable
from tle_raw.errors import FragmentSourceError
from tle_raw.fragments.parameter_types import INOUT
from tle_raw.porting import PortRequest
from tle_raw.target import Target


def write_triton(request: PortRequest, examined: Sequence[Examined], script: Script, target: Target) -> str:
    """The text of the file."""
    lines = [*_head(request, examined, script, target)]
    for each in examined:
        lines += ["", "", *_Section(each, target, script.module).lines()]
    return "\n".join([*lines, "", "", *_main(examined, target)]) + "\n"


def _head(request: PortRequest, examined: Sequence[Examined], script: Script, target: Target) -> Iterator[str]:
    file = request.file
    yield f'"""The TileLang kernels of {_words(file.name)} as regions of Triton kernels.'
    yield ""
    for each in examined:
        on_cpu = ", runs on the CPU too" if each.runs_on_cpu else ""
        yield f"{each.ported.name}: {each.ported.route} on {target}{on_cpu}."
    yield '"""'
    yield ""
    kinds = {each.candidate.kind for each in examined}
    takes = TAKEN in kinds
    loads = bool(kinds - {TAKEN}) or any(each.reference is not None for each in examined)
    root, module = module_of(file)
    is_package = "." in module
    is_beside = root == request.output.parent and all(
        part.isidentifier() and not keyword.iskeyword(part) for part in module.split(".")
    )
    is_import = script.is_plain and is_beside and loads
    way = _way(file, request)
    uses_partial = any(each.reference is not None and each.reference.extra for each in examined)
    if uses_partial:
        yield "from functools import partial"
    uses_path = "Path(" in way and (takes or (loads and not is_import))
    if uses_path:
        yield "from pathlib import Path"
    uses_namespace = any(
        "SimpleNamespace(" in text for e in examined for text in _spelled_arguments(e, script.module).values()
    )
    if uses_namespace:
        yield "from types import SimpleNamespace"
    if uses_partial or uses_path or uses_namespace:
        yield ""
    yield from ("import torch", "import triton")
    if any(each.fused is not None for each in examined):
        yield "import triton.language as tl"
    if any(not each.runs_on_cpu for each in examined):
        yield from ("from triton.backends.compiler import GPUTarget", "from triton.compiler import ASTSource")
    yield from ("", "import tle_raw")
    used = [("load_kernels", takes), ("load_script", loads and not is_import), ("check_region", True)]
    used.append(("kernel_uncompiled", any(each.compiles for each in examined)))
    yield f"from tle_raw.adapters.tilelang.port import {', '.join(sorted(name for name, is_used in used if is_used))}"
    if is_import:
        yield from ("", f"import {module} as {MODULE}" if not is_package else _import_of(module))
    if takes or not is_import:
        yield ""
    if loads and not is_import:
        if not script.is_plain:
            yield "# Not a plain import: the script compiles or runs kernels, or needs a GPU, when it is imported."
        yield from broken(f"{MODULE} = load_script(", [way], ")")
    if takes:
        yield "# What its main part builds, taken on the way to TileLang's compiler: nothing is compiled or run."
        words = [literal(list(request.words)) or "[]"] if request.words else []
        yield from broken(f"{KERNELS} = load_kernels(", [way, *words], ")")


def _import_of(module: str) -> str:
    package, _, name = module.rpartition(".")
    return f"from {package} import {name} as {MODULE}"


def _way(file: Path, request: PortRequest) -> str:
    """To the script from where the file lies; an installed module is found by its name."""
    if request.module and ("site-packages" in file.parts or module_of(file)[1] != request.module):
        return str(literal(request.module))
    return f"Path(__file__).parent / {literal(os.path.relpath(file, request.output.parent))}"


def _spelled_arguments(examined: Examined, module: ModuleType) -> dict[str, str]:
    found = {name: spelled(value, module, MODULE) for name, value in examined.candidate.arguments.items()}
    return {name: text for name, text in found.items() if text is not None}


def _words(text: str) -> str:
    return text.replace("\\", "").replace('"', "")


class _Section:
    """The lines of one PrimFunc."""

    def __init__(self, examined: Examined, target: Target, module: ModuleType) -> None:
        assert examined.program is not None
        self.module = module
        self.examined, self.target, self.program = examined, target, examined.program
        self.name = examined.ported.name
        self.parameters = [p.name for p in examined.fragment.signature.parameters]
        self.spelled = spelled_names(self.parameters, self.name)
        self.alone = alone_name(examined)
        self.order = [self.spelled[name] for name in self.program.order]
        self.dims = {name: _place_of_dim(self.program, variable) for name, variable in self.program.dims.items()}

    def lines(self) -> list[str]:
        compiling = [] if self.examined.runs_on_cpu else ["", "", *self._compiling()]
        parts = (self._region(), self._kernel(), self._launch(), self._inputs())
        return [line for number, part in enumerate(parts) for line in (["", ""] * bool(number) + part)] + compiling

    def _region(self) -> list[str]:
        candidate, lines = self.examined.candidate, []
        source, options = f"{MODULE}.{candidate.path}", ["in_grid=True"]
        if candidate.kind == TAKEN:
            source = f"{KERNELS}[{literal(candidate.path)}]"
        if candidate.arguments:
            if candidate.guessed:
                lines += [f"# Sizes of no one's choice: {', '.join(candidate.guessed)}."]
            lines += dictionary(f"{self.name}_arguments", _spelled_arguments(self.examined, self.module))
        if candidate.kind == JIT and candidate.arguments:
            options.insert(0, f"arguments={self.name}_arguments")
        elif candidate.kind == BUILDER:
            source = self._built(source)
        if candidate.inner:
            lines += dictionary(f"{self.name}_tuning", {n: str(literal(v)) for n, v in candidate.inner.items()})
            options.insert(0, f"arguments={self.name}_tuning")
            source += ".jit_impl" * candidate.is_tuned
        if self.examined.fused is not None:
            options.append(f"tiles=[{', '.join(json.dumps(name) for name in self.examined.fused.tiles)}]")
        if self.examined.route:
            options.append(f'route="{self.examined.route}"')
        lines += [
            "# in_grid: the kernel is launched over the PrimFunc's own grid. Leave it out when you launch another."
        ]
        lines += broken(f"{self.name}_region = tle_raw.fragment(", [source, *options], ")")
        if self.examined.fused is not None:
            plain = [option for option in options if not option.startswith("tiles=")]
            lines += broken(f"{self.alone} = tle_raw.fragment(", [source, *plain], ")")
        return lines

    def _built(self, builder: str) -> str:
        """The call of a builder; of one that has its kernel compiled, without that."""
        given = [f"**{self.name}_arguments"] if self.examined.candidate.arguments else []
        return (
            f"kernel_uncompiled({', '.join([builder, *given])})"
            if self.examined.compiles
            else f"{builder}({''.join(given)})"
        )

    def _kernel(self) -> list[str]:
        if self.examined.fused is not None:
            return list(self.examined.fused.lines)
        names = [self.spelled[name] for name in self.parameters]
        return [
            "@triton.jit",
            *broken(f"def {self.name}_kernel(", names, "):"),
            "    # Triton code before the region stands here.",
            *broken(f"{self.name}_region(", names, ")", 4),
            "    # Triton code after it stands here.",
        ]

    def _launch(self) -> list[str]:
        grid = [expression(axis.extent, self._name_of) for axis in self.program.grid]
        known = [extent for extent in grid if extent is not None]
        lines = [f"    {self.spelled[name]} = {place}" for name, place in self.dims.items() if place]
        if len(known) == len(grid):
            lines.append(f"    grid = {tuple_text(known)}")
        else:
            lines += broken(f"grid = {self.alone}.as_kernel().grid(", self.order, ")", 4)
        dims = [self.spelled[name] for name in self.program.dims]
        passed = [*self.order, *dims, f"num_warps={self.examined.num_warps}"]
        return [
            *broken(f"def run_{self.name}(", [*self.order, *self._open()], "):"),
            *lines,
            *broken(f"return {self.name}_kernel[grid](", passed, ")", 4),
        ]

    def _inputs(self) -> list[str]:
        lines = input_lines(self.program, self.examined.fragment.signature, self.spelled)
        returned = [*self.order, *self._open()]
        one = f"({returned[0]},)" if len(returned) == 1 else ", ".join(returned)
        last = [f"    return {one}"] if len(one) < 100 else broken("return (", returned, ")", 4)
        return [f"def {self.name}_inputs(device):", *lines, *last]

    def _compiling(self) -> list[str]:
        types = {self.spelled[n]: f'"{t}"' for n, t in triton_types(self.examined.fragment.signature).items()}
        return [
            f"def compile_{self.name}():",
            '    """For a GPU that need not be there."""',
            *(f"    {line}" for line in dictionary("types", types)),
            f'    target = GPUTarget("cuda", {self.target.capability}, 32)',
            *broken(
                "return triton.compile(",
                [
                    f"ASTSource({self.name}_kernel, types)",
                    "target=target",
                    f'options={{"num_warps": {self.examined.num_warps}}}',
                ],
                ")",
                4,
            ),
        ]

    def _open(self) -> list[str]:
        """Sizes that no buffer tells."""
        return [self.spelled[name] for name, place in self.dims.items() if not place]

    def _name_of(self, variable: Variable) -> str | None:
        known = {**self.program.scalars, **self.program.dims}
        return next((self.spelled[name] for name, v in known.items() if v.same_as(variable)), None)


def alone_name(examined: Examined) -> str:
    """The PrimFunc as it is, which tiles of a caller are no part of."""
    return f"{examined.ported.name}_{'region' if examined.fused is None else 'alone'}"


def _place_of_dim(program: Any, variable: Variable) -> str:
    """Which tensor has an open size or stride as its own."""
    for name, buffer in program.buffers.items():
        for number, extent in enumerate(buffer.shape):
            if variable.same_as(extent):
                return f"{name}.shape[{number}]"
        for number, stride in enumerate(buffer.strides):
            if variable.same_as(stride):
                return f"{name}.stride({number})"
    return ""


def _main(examined: Sequence[Examined], target: Target) -> Iterator[str]:
    yield 'if __name__ == "__main__":'
    yield "    tle_raw.knobs.cpu.progress = 10.0  # seconds between the lines that a long launch on the CPU prints"
    yield "    device = triton.runtime.driver.active.get_active_torch_device()  # the GPU, or else the CPU"
    for each in examined:
        assert each.program is not None
        name, effects = each.ported.name, {p.name: p.effect for p in each.fragment.signature.parameters}
        written = [str(n) for n, parameter in enumerate(each.program.order) if effects[parameter] == INOUT]
        items = [f'"{name}"', alone_name(each), f"run_{name}", f"{name}_inputs(device)", f"[{', '.join(written)}]"]
        if each.reference is not None:
            numbers = tuple_text([str(i) for i in each.reference.inputs])
            function = f"{MODULE}.{each.reference.name}"
            if each.reference.extra:
                words = [f"{name}={literal(value)}" for name, value in each.reference.extra.items()]
                function = f"partial({', '.join([function, *words])})"
            items.append(f"reference=({function}, {numbers})")
        is_open = not all(_place_of_dim(each.program, v) for v in each.program.dims.values())
        if each.runs_on_cpu and not is_open:
            yield from broken("check_region(", items, ")", 4)
        elif is_open:
            yield f"    print(tle_raw.report(run_{name}(*{name}_inputs(device))))"
        else:
            yield '    if device.type == "cuda":'
            yield from broken("check_region(", items, ")", 8)
            yield "    else:  # it is linked, which is for GPUs only"
            yield f"        print(tle_raw.report(compile_{name}()))"


def check_arguments(examined: Examined, module: ModuleType) -> None:
    """Refuse arguments that no text can say."""
    for name, value in examined.candidate.arguments.items():
        if spelled(value, module, MODULE) is None:
            raise FragmentSourceError(f"the argument {name}={value!r} cannot be written into a file")
