"""What ``make demo`` runs: sample 02, a softmax whose reduction is CUDA, in one Triton kernel.

It is launched and its numbers are checked: on a GPU, or where there is none on the CPU. There it is also compiled for
cuda:90, and the machine code shown.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import tle_raw

sys.path.insert(0, str(Path(__file__).resolve().parent))
import common

TARGET = "cuda:90"
FOLDER = "02_softmax"
SHOWN = 30  # lines of PTX
# Instructions that a reader of the fragment knows again.
KNOWN = {
    "ld.shared": "reads t(row, col)",
    "st.shared": "writes t(row, col)",
    "shfl.sync": "__shfl_xor_sync",
    "ex2.approx": "__expf",
    "bar.sync": "__syncthreads",
}


def main() -> int:
    sample = common.load(FOLDER)
    folder = Path(__file__).parent / FOLDER
    heading("The kernel: Triton loads, scales and stores. `softmax_rows` is the CUDA function below.")
    print(part_of(folder / "softmax.py", '@tle_raw.dialect("cuda"', "ROWS = "))
    heading("The fragment: hand-written CUDA, called once per block with a whole tile.")
    print(part_of(folder / "softmax.cu", "template", None))
    heading(f"Launched on {common.device_name()}: the results against torch in double precision.")
    good = common.show_checked(sample.check())
    if common.on_cpu():
        good &= compiled_for_gpu(sample)
    print(f"\n{common.verdict(good)}")
    return 0 if good else 1


def compiled_for_gpu(sample: ModuleType) -> bool:
    """The same kernel for a GPU, and its machine code; False where it is not what tle_raw promises."""
    heading(f"The same kernel compiled for {TARGET}, there being no GPU in use here.")
    (kernel,) = sample.compile_for(TARGET)
    report = tle_raw.report(kernel)
    print(report)
    heading("Where the CUDA function sits in the kernel's PTX.")
    print(marked(report.excerpt(0, most=SHOWN, around="shfl.sync")))
    print(seen(report))
    return common.is_one_kernel(kernel)


def heading(text: str) -> None:
    print(f"\n── {text}\n")


def part_of(file: Path, start: str, end: str | None) -> str:
    """The lines from the first that begins with ``start`` up to the one that begins with ``end``."""
    lines = file.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(start))
    last = next((i for i, line in enumerate(lines) if end and line.startswith(end)), len(lines))
    return "\n".join(f"    {line}".rstrip() for line in lines[first:last]).rstrip().replace("\n\n\n", "\n\n")


def marked(excerpt: str) -> str:
    """Beside each line that a reader of the fragment knows again, what it comes from."""
    shown = []
    for line in excerpt.splitlines():
        meaning = next((text for name, text in KNOWN.items() if name in line), "")
        shown.append(f"{line.expandtabs(8):68}{'← ' + meaning if meaning else ''}".rstrip())
    return "\n".join(shown)


def seen(report: tle_raw.LinkReport) -> str:
    """What the lines above show, in words."""
    region = report.regions[0]
    shuffles = sum("shfl.sync" in line for line in report.ptx.splitlines())
    return f"""
What is seen: these lines are the body of `{region.name}`, inside the only entry point there is, `{report.kernel}`.
The tile lies in shared memory, each of the {shuffles} shuffles is one instruction, and nothing is called:
one kernel, one launch. The numbers above are those of the same source, run on the CPU."""


if __name__ == "__main__":
    sys.exit(main())
