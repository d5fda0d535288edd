"""The list of kernels, and the folders in which each package's own build looks for headers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

LIST = Path(__file__).with_name("kernels.tsv")

# As the packages' build files give them, below the unpacked distribution.
_FOLDERS = {
    "bitsandbytes": ["csrc"],
    "causal_conv1d": ["csrc"],
    "deepspeed": [
        "csrc/includes", "csrc/transformer/inference/includes", "csrc/fp_quantizer/includes", "csrc/spatial/includes",
        *(f"deepspeed/inference/v2/kernels/{name}" for name in (
            "includes", "core_ops/cuda_linear/include", "core_ops/cuda_rms_norm", "ragged_ops/includes",
            "ragged_ops/logits_gather", "ragged_ops/moe_scatter", "ragged_ops/ragged_helpers",
            "ragged_ops/top_k_gating", "../ragged/includes",
        )),
    ],
    "exllamav2": ["exllamav2/exllamav2_ext", "exllamav2/exllamav2_ext/cuda"],
    "flash_attn": ["csrc/flash_attn", "csrc/flash_attn/src", "csrc/layer_norm", "csrc/cutlass/include"],
    "flashinfer_python": [
        *(f"flashinfer/data/{name}" for name in (
            "include", "csrc", "csrc/nv_internal", "csrc/nv_internal/include", "cutlass/include",
            "cutlass/tools/util/include", "spdlog/include",
            "cccl/cub", "cccl/libcudacxx/include", "cccl/thrust",
        )),
    ],
    "llama_cpp_python": [
        *(f"vendor/llama.cpp/ggml/{name}" for name in ("include", "src", "src/ggml-cuda")),
    ],
    "mamba_ssm": ["csrc/selective_scan"],
    "vllm": ["csrc"],
}  # fmt: skip
# Headers of wheels: nvidia-nccl-cu13.
_WHEELS = {"flashinfer_python": [("nvidia", "nccl/include")]}


@dataclass(frozen=True)
class Listed:
    """One line of the list: a kernel with its template arguments, its file below the package, and its block.

    ``flags`` are those of its build where the list names them: ``-I``, below the package or beside it, ``-D``,
    and ``-include`` of the file in which the build's linker finds what this one declares.
    ``origin`` is the repository, in a list of repositories.
    """

    package: str
    version: str
    file: str
    symbol: str
    block: tuple[int, ...]
    flags: str = ""
    origin: str = ""

    @property
    def name(self) -> str:
        """The kernel's own name, without namespaces and arguments."""
        return self.symbol.partition("<")[0].rpartition("::")[2]

    def root(self, sources: Path) -> Path | None:
        """The unpacked distribution: ``vllm-0.6.3`` or ``vllm``."""
        candidates = (sources / f"{self.package}-{self.version}", sources / self.package)
        return next((folder for folder in candidates if folder.is_dir()), None)

    def folders(self, root: Path) -> list[str]:
        """Where the package's build looks for headers, as far as the distribution and installed wheels have them."""
        named = [flag[2:] for flag in self.flags.split() if flag.startswith("-I")]
        own = [root / folder for folder in named or _FOLDERS.get(self.package, ())]
        wheels = [
            Path(found, folder)
            for module, folder in _WHEELS.get(self.package, ())
            for found in getattr(find_spec(module), "submodule_search_locations", None) or ()
        ]
        return [str(folder) for folder in (*own, *wheels) if folder.is_dir()]

    def defines(self) -> list[str]:
        """Macros of the package's build."""
        return [flag[2:] for flag in self.flags.split() if flag.startswith("-D")]

    def included(self, root: Path) -> list[str]:
        """Flags for the files in which the build's linker finds what the kernel's own declares."""
        files = [flag.partition("=")[2] for flag in self.flags.split() if flag.startswith("-include=")]
        return [part for file in files for part in ("-include", str(root / file))]


def listed(path: Path = LIST) -> Iterator[Listed]:
    """The kernels in the order of the list."""
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            block = tuple(int(extent) for extent in row.pop("block").split("x"))
            yield Listed(**row, block=block)
