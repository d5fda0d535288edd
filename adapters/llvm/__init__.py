"""LLVM IR fragments for NVIDIA GPUs: ``.ll`` text and ``.bc`` bitcode."""

from tle_raw.adapters.llvm.adapter import LlvmAdapter

__all__ = ["LlvmAdapter"]
