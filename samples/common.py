"""What every sample needs besides its kernel: its command line, compiling ahead of time, comparing, printing."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import tle_raw
from tle_raw.target import parse_target


@dataclass(frozen=True)
class Comparison:
    """One result against its reference: how far the worst element is off, and how far it may be.

    ``share`` is the largest ``|error| / (absolute + relative * |reference|)``: at most 1 is right.
    """

    what: str
    error: float
    share: float
    tolerance: str

    @property
    def is_right(self) -> bool:
        return self.share <= 1  # not so for a NaN

    def __str__(self) -> str:
        verdict = "ok" if self.is_right else "WRONG"
        return f"{verdict:5}  {self.what:36}  max error {self.error:.3g} (allowed: {self.tolerance})"


# A sample's checks: each kernel that ran, with one comparison of what it wrote.
Checks = Iterator[tuple[Any, Comparison]]


def compare(what: str, got: Any, want: Any, relative: float = 0.0, absolute: float = 0.0) -> Comparison:
    """Compare two tensors of one shape in double precision."""
    import torch

    if got.shape != want.shape:
        raise ValueError(f"{what}: shapes {tuple(got.shape)} and {tuple(want.shape)} differ")
    want = want.to(torch.float64)
    error = (got.to(torch.float64) - want).abs()
    allowed = absolute + relative * want.abs()
    share = torch.where(error == 0, 0.0, error / allowed)  # where nothing is allowed, nothing is over nothing
    parts = [f"{absolute:.2g}" if absolute else "", f"{relative:.2g} × |reference|" if relative else ""]
    tolerance = " + ".join(part for part in parts if part) or "none"
    if not error.numel():
        return Comparison(what, 0.0, 0.0, tolerance)
    return Comparison(what, error.max().item(), share.max().item(), tolerance)


def compile_ahead(
    kernel: Any,
    target: str,
    types: Mapping[str, str],
    constants: Mapping[str, Any],
    num_warps: int = 4,
    num_stages: int = 3,
) -> Any:
    """Compile a kernel without a GPU, as its launch would.

    ``types`` are Triton's: ``*fp32``, ``i32``; ``i32:16`` is a multiple of 16, and every pointer is taken to be one.
    """
    parsed = parse_target(target)
    names = list(kernel.arg_names)
    signature = {name: types.get(name, "constexpr").removesuffix(":16") for name in names}
    multiples = [name for name, type_ in types.items() if type_.startswith("*") or type_.endswith(":16")]
    divisible = {(names.index(name),): [["tt.divisibility", 16]] for name in multiples}
    return triton.compile(
        ASTSource(kernel, signature, dict(constants), divisible),
        target=GPUTarget(parsed.backend, parsed.capability, 32),
        options={"num_warps": num_warps, "num_stages": num_stages},
    )


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def load(folder: str) -> ModuleType:
    """Import the sample in ``samples/<folder>``; a folder that starts with a digit is no package."""
    (file,) = (Path(__file__).parent / folder).glob("*.py")
    spec = importlib.util.spec_from_file_location(f"sample_{folder}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(title: str, compile_for: Callable[[str], Iterable[Any]], check: Callable[[], Checks]) -> int:
    """Run a sample: its checks on a GPU, else its compilation. Returns the exit code."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--compile-only", action="store_true", help="launch nothing, even on a GPU")
    parser.add_argument("--target", default="cuda:90", help="what to compile for without a GPU (%(default)s)")
    options = parser.parse_args()
    print(title)
    if options.compile_only or not has_gpu():
        return show_compiled(compile_for(options.target), options.compile_only)
    return show_checked(check())


def show_compiled(kernels: Iterable[Any], on_request: bool = False) -> int:
    """Print the report of each kernel."""
    good = True
    for kernel in kernels:
        good &= show_report(kernel)
    print(f"\nCompiled only: {'as asked' if on_request else 'no GPU here'}. NO NUMBERS WERE CHECKED.")
    return 0 if good else 1


def show_checked(checks: Checks) -> int:
    """Print each comparison as it comes, then the report of each kernel."""
    import torch

    print(f"on {torch.cuda.get_device_name()}, Triton {triton.__version__}, random data\n")
    kernels: dict[str, Any] = {}
    good = True
    for kernel, comparison in checks:
        print(f"  {comparison}")
        good &= comparison.is_right and is_one_kernel(kernel)
        kernels[kernel.metadata.name] = kernel  # the last of each: sizes are in rising order of interest
    for kernel in kernels.values():
        good &= show_report(kernel)
    print("\nPASS" if good and kernels else "\nFAIL")
    return 0 if good and kernels else 1


def show_report(kernel: Any) -> bool:
    """Print what became of the regions of a kernel; False where it is not what tle_raw promises."""
    print(f"\n{tle_raw.report(kernel)}")
    return is_one_kernel(kernel)


def is_one_kernel(kernel: Any) -> bool:
    """One entry point, every region inlined, no call left, nothing spilled."""
    report = tle_raw.report(kernel)
    inlined = all(region.inlined for region in report.regions)
    return report.one_kernel and inlined and not report.ptx_calls and not report.sass_calls and not report.spills
