"""Addresses of local arrays are numbers of 64 bits, in PTX, as nvcc writes them.

Triton lets LLVM compute them in 32 bits. Those ptxas does not follow; wide ones it does, and puts a short array into
registers even where a place is written whose index is known at run time only, if all accesses are of one width: a
selection among eight values a thread has no local memory then (12.8, sm_90). Where an address goes another way than to
loads and stores all stays as it is.

vLLM's ``topkGatingSoftmax`` takes 0.951 of nvcc's time on an H200 with it, and 1.318 without
(samples/benchmarks/RESULTS.md). ``TLE_RAW_DISABLE_PASSES=wide-local-addresses`` compiles without it.
"""

from __future__ import annotations

import re

from tle_raw.linker.ptx.code_lines import has_one_function

_DEPOT = "__local_depot"
_FRAME = re.compile(r"add\.u64[ \t]+(%rd\d+), %SPL, \d+;")
_NARROWED = re.compile(r"^[ \t]*cvt\.u32\.u64[ \t]+(%r\d+), (%rd\d+);\n", re.MULTILINE)
_SUM = re.compile(r"add\.s32[ \t]+(?P<sum>%r\d+), (?P<base>%r\d+), (?P<index>%r\d+|-?\d+);")
_PAIR_STORED = re.compile(r"st\.local\.b64[ \t]+\[(%rd\d+)(?:\+(\d+))?\], (%rd\d+);")
_PAIR_LOADED = re.compile(r"ld\.local\.b64[ \t]+(%rd\d+), \[(%rd\d+)(?:\+(\d+))?\];")
_DECLARED = re.compile(r"\.reg \.b64[ \t]+%rd<(\d+)>;")


def wide_local_addresses(text: str) -> str:
    """The PTX with them."""
    declared = _DECLARED.search(text)
    if _DEPOT not in text or declared is None or not has_one_function(text):
        return text
    frames = set(_FRAME.findall(text))
    bases = {narrow: wide for narrow, wide in _NARROWED.findall(text) if wide in frames}
    if not bases:
        return _in_words(text) if frames else text
    sums = {s["sum"]: s for s in _SUM.finditer(text) if s["base"] in bases}
    if not all(_is_address(text, name, 1 + (name in bases)) for name in sums):
        return text
    if not all(_is_address(text, name, 1 + sum(s["base"] == name for s in sums.values())) for name in bases):
        return text
    first = int(declared[1])
    wide = {name: f"%rd{first + number}" for number, name in enumerate(sums)}

    def added(found: re.Match[str]) -> str:
        if found["sum"] not in wide:
            return found[0]
        name, base = wide[found["sum"]], bases[found["base"]]
        if not found["index"].startswith("%"):
            return f"add.s64 \t{name}, {base}, {found['index']};"
        return f"cvt.s64.s32 \t{name}, {found['index']};\n\tadd.s64 \t{name}, {base}, {name};"

    text = _SUM.sub(added, text)
    text = _NARROWED.sub(lambda cut: "" if cut[1] in bases else cut[0], text)
    for narrow, name in {**bases, **wide}.items():
        text = re.sub(rf"\[{narrow}(?=[\]+])", f"[{name}", text)
    return _in_words(text).replace(declared[0], f".reg .b64 \t%rd<{first + len(wide)}>;", 1)


def _in_words(text: str) -> str:
    """Pairs of words that are copied at once, each for itself where others are."""
    if ".local.b32" not in text:
        return text

    def stored(pair: re.Match[str]) -> str:
        at = int(pair[2] or 0)
        words = f"st.local.b32 [{pair[1]}+{at}], low; st.local.b32 [{pair[1]}+{at + 4}], high;"
        return f"{{ .reg .b32 low, high; mov.b64 {{low, high}}, {pair[3]}; {words} }}"

    def loaded(pair: re.Match[str]) -> str:
        at = int(pair[3] or 0)
        words = f"ld.local.b32 low, [{pair[2]}+{at}]; ld.local.b32 high, [{pair[2]}+{at + 4}];"
        return f"{{ .reg .b32 low, high; {words} mov.b64 {pair[1]}, {{low, high}}; }}"

    return _PAIR_LOADED.sub(loaded, _PAIR_STORED.sub(stored, text))


def _is_address(text: str, name: str, others: int) -> bool:
    """Whether a register is used in accesses to local memory, and ``others`` times besides."""
    uses = len(re.findall(rf"{name}\b", text))
    accesses = len(re.findall(rf"\b(?:ld|st)\.local\.[^;\n]*\[{name}[\]+]", text))
    return uses == accesses + others
