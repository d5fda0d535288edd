"""Both sides of a comparison, as machine code for one GPU: tle_raw's kernel, and nvcc's of the same source.

nvcc gets what clang was given: the source without its host code, the headers that stand in for missing ones.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuda_sweep.kernels import Listed

FLAGS = ("-O3", "-std=c++17", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-cubin", "-w")
_ADDRESS = "constexpr auto tle_raw_kernel_address = "


@dataclass
class Compiled:
    """What the compiler was given last: the text, the search flags, other contents of headers by their path."""

    text: str = ""
    file: Path | None = None
    flags: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    address: str = ""


def compile_ours(
    kernel: Listed, root: Path, target: str, shared: int, ask: bool = False
) -> tuple[Any, Compiled | None]:
    """Triton's compiled kernel, and what clang compiled: with ``ask`` it is asked even where a cache has the answer."""
    import triton

    import tle_raw
    from tle_raw.adapters.cpp.precompiled_headers import compile_unit
    from tle_raw.adapters.cuda import adapter, host_code

    seen: list[Compiled] = []
    cut, units = host_code._run, []

    def recorded_unit(toolchain: Any, options: Any, arch: Any, folder: Any, unit: str, *more: Any, **named: Any) -> Any:
        units.append(unit)
        return compile_unit(toolchain, options, arch, folder, unit, *more, **named)

    def recorded(source: Any, plan: Any, compile_source: Any) -> Any:
        def compile_it(compiled: Any, flags: tuple[str, ...]) -> Any:
            options, _ = compiled.data
            overlay = flags[flags.index("-ivfsoverlay") + 1] if "-ivfsoverlay" in flags else None
            headers = {}
            if overlay:
                for entry in json.loads(Path(overlay).read_text())["roots"]:
                    headers[entry["name"]] = Path(entry["external-contents"]).read_text(errors="surrogateescape")
                flags = flags[: flags.index("-ivfsoverlay")]
            run = compile_source(compiled, flags if not overlay else (*flags, "-ivfsoverlay", overlay))
            if run.returncode == 0:
                found = Compiled(compiled.text, options.file, flags, options.declared, headers)
                lines = [line for line in units[-1].splitlines() if line.startswith(_ADDRESS)] if units else []
                found.address = lines[-1].partition(" = ")[2].rstrip(";") if lines else ""
                seen.append(found)
            return run

        return cut(source, plan, compile_it)

    host_code._run, adapter.compile_unit = recorded, recorded_unit
    try:
        if ask:
            tle_raw.knobs.cache.enabled, triton.knobs.compilation.always_compile = False, True
        fragment = tle_raw.fragment(
            root / kernel.file, dialect="cuda", symbol=kernel.symbol, include_dirs=kernel.folders(root)
        )
        compiled = fragment.as_kernel(block=kernel.block, shared=shared).compile(target)
    finally:
        host_code._run, adapter.compile_unit = cut, compile_unit
    return compiled, seen[-1] if seen else None


def described(kernel: Listed, root: Path, compiled: Any) -> dict[str, Any]:
    """What a launch of the machine code must know: the parameters, and what Triton says of its kernel."""
    import tle_raw
    from tle_raw.fragments.signature import StructParameter
    from tle_raw.fragments.structs import Address, leaves

    fragment = tle_raw.fragment(
        root / kernel.file, dialect="cuda", symbol=kernel.symbol, include_dirs=kernel.folders(root)
    )
    parameters: list[dict[str, Any]] = []
    for parameter in fragment.as_kernel(block=kernel.block).signature.own:
        if not isinstance(parameter, StructParameter):
            kind: Any = parameter.type
            parameters.append({"name": parameter.name, "kind": kind.kind, "dtype": kind.dtype.name})
            continue
        held = [
            [".".join(leaf.path), leaf.offset, "*" * isinstance(leaf.type, Address) + leaf.type.dtype.name]
            for leaf in leaves(parameter.type)
        ]
        parameters.append({"name": parameter.name, "size": parameter.type.size, "leaves": held})
    metadata = compiled.metadata
    ours = {"name": metadata.name, "shared": metadata.shared, "warps": metadata.num_warps}
    return {"params": parameters, "ours": ours}


def compile_theirs(kernel: Listed, compiled: Compiled, root: Path, folder: Path, nvcc: str, arch: str) -> bytes:
    """nvcc's cubin of the one kernel. ``folder`` gets a tree of links to the package, in which headers are replaced."""
    tree = folder / root.name
    if not tree.is_dir():
        shutil.copytree(root, tree, copy_function=lambda source, to: os.symlink(source, to), symlinks=True)
    texts = {**compiled.headers}
    main = tree / kernel.file
    replaced = []
    try:
        for name, text in texts.items():
            place = tree / Path(name).relative_to(root) if Path(name).is_relative_to(root) else None
            if place is None:
                raise ValueError(f"a header outside the package is replaced: {name}")
            place.unlink()
            place.write_text(text, errors="surrogateescape")
            replaced.append((place, name))
        unit = folder / "unit.cu"
        address = compiled.address
        unit.write_text(
            "\n".join([
                "#include <cuda_runtime.h>", "#include <cuda_fp16.h>", "#include <cuda_bf16.h>", "#include <cstdint>",
                *compiled.declared,
                f'#include "{main}"',
                f"constexpr auto tle_raw_kernel_address = {address};",
                "const void* tle_raw_kernel() { return (const void*)tle_raw_kernel_address; }",
                "",
            ])
        )  # fmt: skip
        flags = []
        for flag, value in zip(compiled.flags[::2], compiled.flags[1::2]):
            flags += ["-isystem", value] if flag == "-isystem" else ["-Xcompiler", f"{flag},{value}"]
        own = [f"-I{tree / Path(path).relative_to(root)}" for path in kernel.folders(root)]
        out = folder / "unit.cubin"
        out.unlink(missing_ok=True)
        include = Path(__import__("tle_raw").__file__).parent / "include"
        command = [nvcc, f"-arch={arch}", *FLAGS, *own, *flags, "-isystem", str(include), str(unit), "-o", str(out)]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=900)
        if run.returncode:
            raise RuntimeError(run.stderr[:3000])
        return out.read_bytes()
    finally:
        for place, name in replaced:
            place.unlink(missing_ok=True)
            place.symlink_to(name)
