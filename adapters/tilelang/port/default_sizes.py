"""Arguments that a builder of kernels wants and nobody gave: small sizes, by the parameters' names."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_VALUES: tuple[tuple[str, Any], ...] = (  # the first that fits a name without its underscores, in lower case
    (r"(num)?(batch(size)?|b|bs|bsz)", 1),
    (r"block(size)?(m|n|q|s|t|seq|row|rows|col|cols)|block|blocksize|bm|bn|tile(m|n)|chunksize|chunk|bt", 64),
    (r"block(size)?(k|d|dv|dk|h)?|bk|tilek|bv", 32),
    (r"(num)?stages?", 2),
    (r"(num|n)?(iters?|iterations|steps|repeats?)|nt|topk|numtopk", 4),
    (r"(num)?threads?|nthreads?", 128),
    (
        r"(num)?(heads?(q|kv|k|v)?|(q|kv|k|v|n|numq|numkv|numk|numv)heads?|h|hg|hq|hk|hv|hkv)|numgroups?|groups?|ngroups?",
        2,
    ),
    (r"(head)?dims?(qk|q|k|v)?|(d|k|v|qk)?headdim|headsize|d|dk|dv|dqk|(qk|v)dim|dstate|nstate", 64),
    (
        r"(max|total|num)?(seq|ctx|context)?len(gth)?(q|k|kv)?|seq(len)?(q|k|kv)?|(q|k|kv)?seqlen(q|k|kv)?|(q|k|kv)(seq)?len|nctx|s|t|l",
        256,
    ),
    (
        r"m|n|k|c|rows?|cols?|columns?|hidden(size|dim)?|(num|n)?tokens?|(in|out)features|size|length|numel|nelements",
        256,
    ),
    (r"(accum|acc|compute|accumulation)(d?type)", "float32"),
    (r"(cu)?(seqlens?|idx|index|indices|offsets?)d?type", "int32"),
    (r"[a-z0-9]*dtype|(in|out)type", "float16"),
    (r"(is)?causal|trans(pose)?(a|b)|reverse|(has|use|is|with|enable|return|output|store)[a-z0-9]+", False),
    (r"eps(ilon)?", 1e-6),
    (r"(sm|softmax)?scale", 0.125),
)

_OPTIONS = {  # of scripts; what a kernel's tiles need to be tiles of something
    **dict.fromkeys(("batch", "b", "batch_size"), 1),
    **dict.fromkeys(("m", "n", "k", "seq_len", "seqlen", "n_ctx", "s", "rows", "cols", "hidden", "num_tokens"), 256),
    **dict.fromkeys(("kv_seqlen", "seq_kv", "seq_q", "q_seqlen", "k_seqlen", "tokens", "seqlen_q", "seqlen_kv"), 256),
    **dict.fromkeys(("skv", "kv_ctx"), 512),
    **dict.fromkeys(("w",), 64),
}


def guessed(function: Any, names: Sequence[str]) -> dict[str, Any]:
    """A value for each name that tells one."""
    hints = _hints(function)
    found = {name: _of_class(hints.get(name)) or _by_name(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _by_name(name: str) -> Any:
    word = name.replace("_", "").lower()
    return next((value for pattern, value in _VALUES if re.fullmatch(pattern, word)), None)


def _of_class(hint: Any) -> Any:
    """A config: a dataclass whose fields all have defaults, or values that their names tell."""
    if not (inspect.isclass(hint) and dataclasses.is_dataclass(hint)):
        return None
    missing = dataclasses.MISSING
    wanted = [
        f.name for f in dataclasses.fields(hint) if f.init and f.default is missing and f.default_factory is missing
    ]
    values = guessed(hint, wanted)
    return hint(**values) if len(values) == len(wanted) else None


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # annotations may say anything
        return {}


def small_options(file: Path) -> tuple[str, ...]:
    """A script's own options for sizes, where their defaults are larger than what shows that numbers are right."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return ()  # who runs it says so
    found: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "add_argument":
            continue
        default = next((k.value for k in node.keywords if k.arg == "default"), None)
        if not isinstance(default, ast.Constant) or type(default.value) is not int:
            continue
        for option in (a.value for a in node.args if isinstance(a, ast.Constant)):
            small = _OPTIONS.get(str(option).lstrip("-").lower())
            if str(option).startswith("--") and small and default.value > small:
                found += [str(option), str(small)]
    return tuple(found)
