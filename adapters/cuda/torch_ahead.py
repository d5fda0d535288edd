"""Torch's numbers and host classes, read by clang once for all programs that take them.

What stands in for torch's host headers (``tle_raw/torch``) takes clang 1.5 s of every run, and a program's host code
is learnt about in several. Precompiled, for 2 s once, it takes 0.2 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tle_raw.adapters.cpp.block_indices import undefine_lines
from tle_raw.adapters.cpp.installed_headers import folder_with
from tle_raw.adapters.cpp.options import Options
from tle_raw.adapters.cuda.host_files import TORCH, ProgramFiles
from tle_raw.adapters.cuda.torch_host_headers import LIGHT_TORCH

LIGHT_NAME = "tle_raw/torch/light.h"
ACCESSOR = "TensorAccessor"  # a type of its that is host code, too, and that kernels take
EXTENSION = tuple(
    f"-D__CUDA_NO_{what}__"
    for what in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
)
# Macros by which those headers, and CUDA's and C++'s below them, become others.
_ASKED = (
    r"(?:(?:TORCH_(?:TARGET|STABLE|USE|HIP)|C10_(?:MOBILE|USE|USING|NODEP|IOS|PREFER|DEFINE|BUILD)|FBCODE_CAFFE2"
    r"|CPU_CAPABILITY|STRIP_ERROR|_*GLIBCXX|_*CUDA_NO|_*CCCL|_*LIBCUDACXX|_*THRUST_(?:IGNORE|NS|D)"
    r"|_*CUB_(?:IGNORE|NS))\w*|USE_ROCM|N?DEBUG|SWIG)\b"
)
_DEFINED = re.compile(rf"^[^\S\n]*#[^\S\n]*define[^\S\n]+{_ASKED}", re.MULTILINE)
_UNDEFINED = re.compile(rf"^[^\S\n]*#[^\S\n]*undef[^\S\n]+{_ASKED}", re.MULTILINE)


def stand_ins(files: ProgramFiles, has_classes: bool, is_extension: bool) -> tuple[str, ...]:
    """Flags for the compiler, by which it reads torch's numbers in the place of torch."""
    # the classes' header has the accessors, too: programs with and without them share what is precompiled
    has_accessors = not has_classes and any(ACCESSOR in text for text in files.texts)
    defines = ["-DTLE_RAW_TORCH_CLASSES"] if has_classes else []
    defines += ["-DTLE_RAW_TORCH_ACCESSORS"] if has_accessors else []
    defines += EXTENSION if is_extension else ()
    torch = folder_with(TORCH)
    own = ("-idirafter", str(torch)) if torch else ()
    return ("-isystem", str(LIGHT_TORCH), *defines, *own)


def torch_ahead(options: Options, files: ProgramFiles, texts: Sequence[str], is_extension: bool) -> tuple[str, ...]:
    """The header to read ahead of its place, if the program takes it and no macro of its own makes it another.

    ``texts`` are those of the files without the branches that are not read.
    """
    if any(True for _ in undefine_lines(options.block, options.grid)):
        return ()  # another file for each shape of a block
    if not files.takes_torchs_host_headers or any(map(_DEFINED.search, _given(options, texts))):
        return ()
    return () if is_extension and any(map(_UNDEFINED.search, texts)) else (LIGHT_NAME,)


def _given(options: Options, texts: Sequence[str]) -> Iterable[str]:
    """The texts, and the defines of the command line that come behind what is read ahead."""
    return (*texts, *(f"#define {define}" for define in options.defines if not define.startswith("_")))
