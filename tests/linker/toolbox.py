"""Compiles CUDA C++ without any header, and calls linked functions through Triton's own stages."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

# Enough of CUDA for fragments that include nothing.
PRELUDE = """\
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __global__ __attribute__((global))
#define GLOBAL __attribute__((address_space(1)))
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#line 1
"""


def compile_cuda(folder: Path, name: str, code: str, *flags: str, arch: str = "sm_90a") -> str:
    """LLVM IR text that zig's clang makes of a fragment."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("ziglang is not installed")
    zig = Path(spec.submodule_search_locations[0], "zig")
    prelude, source, output = folder / "prelude.h", folder / f"{name}.cu", folder / f"{name}.ll"
    prelude.write_text(PRELUDE)
    source.write_text(code)
    command = [
        zig,
        "clang",
        "-x",
        "cuda",
        "--cuda-device-only",
        f"--cuda-gpu-arch={arch}",
        "-nocudainc",
        "-nocudalib",
    ]
    command += ["-include", prelude, "-O3", *flags, "-S", "-emit-llvm", source, "-o", output]
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return output.read_text()


def compile_kernel(function, signature, constants, libraries, folder, capability=90, hook=None):
    """Compile a kernel with libraries of LLVM IR text, through the stock stages."""
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    files = {}
    for name, text in libraries.items():
        files[name] = folder / f"{name}.linked.ll"
        files[name].write_text(text)
    with knobs.compilation.scope(), knobs.runtime.scope():
        knobs.compilation.always_compile = True
        knobs.runtime.add_stages_inspection_hook = hook
        return triton.compile(
            ASTSource(function, signature, constants),
            target=GPUTarget("cuda", capability, 32),
            options={"extern_libs": {name: str(file) for name, file in files.items()}},
        )


def call(symbol, arguments, result, semantic):
    """One call per thread of a linked function that takes scalars and pointers."""
    from triton.language import core

    arguments = [semantic.to_tensor(argument) for argument in arguments]
    handles = [argument.handle for argument in arguments]
    made = semantic.builder.create_extern_elementwise("", "", symbol, handles, result.to_ir(semantic.builder), False)
    return core.tensor(made, result)
