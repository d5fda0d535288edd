"""What every sample needs besides its kernel: its command line, compiling ahead of time, comparing, printing."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
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


@dataclass(frozen=True)
class Stressed:
    """One case of ``stress(random)``, which samples with specialised warps offer to ``tests/gpu/stress.py``.

    Attributes
    ----------
    what : the sizes, for messages.
    launch : launches the kernel once, and gets one tensor for each of ``wanted`` to write all of.
    wanted : what is right, in double precision.
    dtypes, relative, absolute : of the tensors that the kernel writes, and how far each may be off.
    """

    what: str
    launch: Callable[..., Any]
    wanted: tuple[Any, ...]
    dtypes: tuple[Any, ...]
    relative: tuple[float, ...]
    absolute: tuple[float, ...]


def odd_or_even(random: Random, *most: int, step: int = 8) -> tuple[int, ...]:
    """A random size up to each of ``most``: all multiples of 16, or none of them is.

    All but the first are multiples of ``step`` then. Triton compiles a kernel anew for each of its arguments that is a
    multiple of 16, or that is 1: none is.
    """
    if random.random() < 0.25:
        return tuple(16 * random.randint(1, max(1, each // 16)) for each in most)
    first, *others = most
    rest = (16 * random.randint(int(step == 1), (each - step) // 16) + step for each in others)
    return 2 * random.randint(1, (first - 1) // 2) + 1, *rest


def sharing(tiles: int, programs: int) -> int:
    """How many programs, at most so many, share the tiles most evenly: as many rounds by fewer.

    Of 512 tiles 132 programs take four rounds, and so do 128. Where a GPU's power is the limit, as in products, the
    clocks are higher then.
    """
    rounds = max(1, triton.cdiv(tiles, programs))
    return triton.cdiv(tiles, rounds)


def sorted_by_expert(chosen: Any, experts: int) -> tuple[Any, Any]:
    """The pairs of tokens and choices in the order of their experts, and how many each expert has."""
    import torch

    flat = chosen.flatten()
    return torch.argsort(flat, stable=True).to(torch.int32), torch.bincount(flat, minlength=experts)


def blocks_of_experts(counts: Any, most: Any) -> Any:
    """Of each block its expert, its first pair, how many it has, and which of its expert's blocks it is.

    ``counts`` are the pairs of each expert, which follow each other; ``most``, at least 1, how many a block of it has.
    """
    import torch

    shares = (counts + most - 1) // most
    expert = torch.repeat_interleave(torch.arange(counts.numel(), device=counts.device), shares)
    number = torch.arange(expert.numel(), device=counts.device) - (shares.cumsum(0) - shares)[expert]
    before = number * most[expert]
    count = torch.minimum(counts[expert] - before, most[expert])
    begin = (counts.cumsum(0) - counts)[expert] + before
    return torch.stack((expert, begin, count, number), 1).to(torch.int32)


@functools.cache
def counter_of(device: Any, dtype: str) -> Any:
    """What the programs of a launch count by: 0 between launches, of which one runs at a time."""
    import torch

    return torch.zeros(1, dtype=getattr(torch, dtype), device=device)


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
    """Compile a kernel for any target, as its launch would.

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


def device() -> Any:
    """The torch device that kernels are launched on: the GPU, or the CPU where there is none or where
    ``TLE_RAW_TARGET=cpu`` asks for it.
    """
    return triton.runtime.driver.active.get_active_torch_device()


def on_cpu() -> bool:
    return triton.runtime.driver.active.get_current_target().backend == "cpu"


def sizes(gpu: Sequence[Any], cpu: Sequence[Any], watched: Sequence[Any] | None = None) -> Sequence[Any]:
    """What to run with: many and large on a GPU, few and small on the CPU, so that a sample takes some seconds.

    ``watched`` is for a GPU whose every access a tool looks at, which TLE_SAMPLES_WATCHED=1 says.
    """
    if watched is not None and os.environ.get("TLE_SAMPLES_WATCHED") == "1":
        return watched
    return cpu if on_cpu() else gpu


def can_compare() -> bool:
    """Whether kernels that nvcc compiles can stand beside ours: here is a GPU, nvcc, and no TLE_SAMPLES_COMPARE=0."""
    import torch
    from torch.utils.cpp_extension import CUDA_HOME

    wanted = os.environ.get("TLE_SAMPLES_COMPARE") != "0"
    return wanted and torch.cuda.is_available() and not on_cpu() and CUDA_HOME is not None


def show_times(sides: Mapping[str, Callable[[], Any]], launches: int = 20) -> None:
    """Print the median time of each side on the GPU. An impression: ``benchmarks/`` measures."""
    import torch

    for name, side in sides.items():
        times = []
        for _ in range(launches):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            side()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        print(f"  time   {name:36}  {1000 * statistics.median(times):.0f} µs", flush=True)


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def require(package: str, extra: str) -> None:
    """End a sample whose package is missing, and say what to install: a sample that did not run is no success."""
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # a package inside another one, which is missing
        found = None
    if found is None:
        raise SystemExit(f"this sample needs {package}: pip install 'tle_raw[{extra}]'")


def load(path: str) -> ModuleType:
    """Import the sample in the folder ``samples/<path>``, or that file; what starts with a digit is no package."""
    file = Path(__file__).parent / path
    if file.is_dir():
        (file,) = file.glob("*.py")
    spec = importlib.util.spec_from_file_location(f"sample_{path.removesuffix('.py').replace('/', '_')}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(
    title: str,
    compile_for: Callable[[str], Iterable[Any]],
    check: Callable[[], Checks],
    runtime: Sequence[str] = (),
) -> int:
    """Run a sample: its checks, on the CPU its compilation for a GPU, too. Returns the exit code.

    ``runtime`` are functions of the GPU's own runtime that the sample is about, and calls.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--compile-only", action="store_true", help="launch nothing")
    parser.add_argument("--target", default="cuda:90", help="what to compile for (%(default)s)")
    options = parser.parse_args()
    print(title)
    if options.compile_only or not has_torch():
        good = show_compiled(compile_for(options.target), runtime)
        why = "as asked" if options.compile_only else "torch is not installed"
        print(f"\nCompiled only: {why}. NO NUMBERS WERE CHECKED.")
        return 0 if good else 1
    good = show_checked(check(), runtime)
    if on_cpu():
        print(f"\nThe same compiled for {options.target}:")
        good &= show_compiled(compile_for(options.target), runtime)
    print(f"\n{verdict(good)}")
    return 0 if good else 1


def verdict(good: bool) -> str:
    return "PASS" if good else "FAIL"


def show_compiled(kernels: Iterable[Any], runtime: Sequence[str] = ()) -> bool:
    """Print the report of each kernel; False where one is not what tle_raw promises."""
    good = True
    for kernel in kernels:  # all of them, also after one that is wrong
        good &= show_report(kernel, runtime)
    return good


def show_checked(checks: Checks, runtime: Sequence[str] = ()) -> bool:
    """Print each comparison as it comes, then the report of each kernel; False where anything is wrong."""
    print(f"on {device_name()}, Triton {triton.__version__}, random data\n")
    kernels: dict[tuple[str, ...], Any] = {}
    good = True
    for kernel, comparison in checks:
        print(f"  {comparison}", flush=True)
        good &= comparison.is_right and is_one_kernel(kernel, runtime)
        kernels[kernel.metadata.name, *routes_of(kernel)] = (
            kernel  # the last of each: sizes are in rising order of interest
        )
    return show_compiled(kernels.values(), runtime) and good and bool(kernels)


def routes_of(kernel: Any) -> list[str]:
    """How each region of a kernel went; none where it has none."""
    try:
        return [region.route for region in tle_raw.report(kernel).regions]
    except tle_raw.errors.ReportError:
        return []


def device_name() -> str:
    import torch

    if on_cpu():
        return "the CPU"
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "no device"


def show_report(kernel: Any, runtime: Sequence[str] = ()) -> bool:
    """Print what became of the regions of a kernel; False where it is not what tle_raw promises."""
    if routes_of(kernel):
        print(f"\n{tle_raw.report(kernel)}")
    else:
        print(f"\nkernel `{kernel.metadata.name}`: no regions, {kernel.metadata.shared} bytes of shared memory")
    return is_one_kernel(kernel, runtime)


def is_one_kernel(kernel: Any, runtime: Sequence[str] = ()) -> bool:
    """One entry point, every region inlined or, on the CPU, run by its team; no call left, nothing spilled.

    Around calls of the ``runtime`` registers are saved; what else is called is wrong there too. A kernel without
    regions has one entry point and no call.
    """
    if not routes_of(kernel):
        ptx = kernel.asm.get("ptx", "")
        return not ptx or (ptx.count(".entry ") == 1 and re.search(r"^\s*call", ptx, re.MULTILINE) is None)
    report = tle_raw.report(kernel)
    if runtime:
        return report.one_kernel and all(any(name in call for name in runtime) for call in report.ptx_calls)
    inlined = all(region.inlined or region.threads for region in report.regions)
    return report.one_kernel and inlined and not report.ptx_calls and not report.sass_calls and not report.spills
