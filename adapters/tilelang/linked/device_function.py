"""Turns the ``__global__`` function of TileLang's text into a device function, by its tokens.

Block indices, the grid and the dynamic shared memory come in as parameters. The text is edited where it must be and
stays TileLang's otherwise: its lines, its comments and its ``#line`` directives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tle_raw.adapters.cpp.declarations import CppFunction, functions
from tle_raw.adapters.cpp.tokens import Token, tokenize
from tle_raw.adapters.tilelang.linked.caller_barriers import caller_barriers, memory, parameter
from tle_raw.adapters.tilelang.linked.caller_buffers import caller_buffers
from tle_raw.adapters.tilelang.linked.caller_buffers import parameter as buffer_parameter
from tle_raw.adapters.tilelang.linked.loops import loop_pragmas
from tle_raw.adapters.tilelang.linked.register_budgets import GIVE, TAKE, Budgets, fit_budgets
from tle_raw.adapters.tilelang.named_buffers import NamedBuffer
from tle_raw.errors import UnsupportedFeatureError

# Names of the parameters that the rewritten function takes after its own.
BLOCK, GRID, SHARED, REGISTERS = "tle_raw_block", "tle_raw_grid", "tle_raw_shared", "tle_raw_registers"
PARAMETERS = f"const uint3 {BLOCK}, const dim3 {GRID}, unsigned char* {SHARED}, unsigned& {REGISTERS}"

# TileLang's functions that read the launch's own block index, and ours that are given it.
_SWIZZLES = {
    "rasterization2DRow": "tle::tilelang::row_panels",
    "rasterization2DColumn": "tle::tilelang::column_panels",
}
_CHANGES = {GIVE: "give_registers", TAKE: "take_registers"}
# TileLang passes a descriptor by value, which only a launch can; a region gets the address of one.
_BY_VALUE = re.compile(r"__grid_constant__\s+const\s+CUtensorMap\s+(\w+)")
# What needs a launch of its own kind, by the word that tells of it.
_CLUSTERS = dict.fromkeys(("__cluster_dims__", "cluster_sync", "this_cluster"), "a thread block cluster")
_REFUSED = {
    "rasterization2DRowWithCluster": "a thread block cluster whose blocks are swizzled",
    "rasterization2DColumnWithCluster": "a thread block cluster whose blocks are swizzled",
    "cudaGridDependencySynchronize": "programmatic dependent launch (T.pdl_sync)",
    "cudaTriggerProgrammaticLaunchCompletion": "programmatic dependent launch (T.pdl_trigger)",
    "__nv_switch_core_start": "a kernel graph",
}


@dataclass(frozen=True)
class DeviceFunction:
    """``text`` defines ``name``, a device function of the kernel's own parameters and then ``PARAMETERS``.

    ``uses_grid`` : the body asks how many blocks there are. ``uses_shared`` : it has dynamic shared memory.
    ``stores_by_tma`` : it writes global memory by TMA. ``budgets`` : the registers that its warps hand to each other.
    ``barriers``, ``buffers`` : those of the caller, whose addresses it takes last, in this order.
    """

    text: str
    name: str
    parameters: tuple[str, ...]
    uses_grid: bool
    uses_shared: bool
    stores_by_tma: bool = False
    budgets: Budgets | None = None
    barriers: tuple[str, ...] = ()
    buffers: tuple[NamedBuffer, ...] = ()


@dataclass(frozen=True)
class _Edit:
    start: int
    end: int
    text: str


def device_function(
    text: str,
    kernel: str,
    threads: int = 0,
    block: int = 0,
    last: bool = False,
    barriers: Sequence[str] = (),
    buffers: Sequence[NamedBuffer] = (),
    clusters: bool = False,
) -> DeviceFunction:
    """Rewrite the one kernel of a text.

    Parameters
    ----------
    threads, block : how many threads it has, and how many the launch has.
    last : nothing follows it in the launch.
    barriers : the names of those that the caller has. ``buffers`` : its shared buffers.
    clusters : the launch is made in the clusters that it asks for.

    Raises
    ------
    UnsupportedFeatureError : it holds something that only a launch can give, or a form that is not known.
    """
    tokens = tokenize(text)
    definition = _definition(text, kernel)
    offsets = _Offsets(text)
    edits = [_Edit(*offsets.span(part), "") for part in _forward_declarations(tokens, kernel)]
    start, opening, closing = _parts(tokens, definition)
    body = tokens[opening + 1 : closing]
    refused = _REFUSED if clusters else _CLUSTERS | _REFUSED
    for token in tokens[start:closing]:
        if token.text in refused:
            raise UnsupportedFeatureError(
                f"the TileLang kernel needs {refused[token.text]}, and a region is launched by Triton",
                hint="leave that construct out, or launch the kernel with TileLang",
            )
    budgets = _budgets(body, threads, block) if block else None
    own = _parameter_texts(text, offsets, tokens[start:opening])
    taken = [f"uint64_t* {parameter(name)}" for name in barriers]
    taken += [f"unsigned char* {buffer_parameter(buffer.name)}" for buffer in buffers]
    header = ", ".join([*own, PARAMETERS, *taken])
    edits.append(
        _Edit(
            offsets.start(tokens[start]),
            offsets.end(tokens[opening]),
            f"static __device__ __attribute__((always_inline)) void {kernel}({header}) {{ "
            f"const uint3 blockIdx = {BLOCK}; const dim3 gridDim = {GRID}; {{",
        )
    )
    epilogue = "" if last else _epilogue(body, barriers)
    edits.append(_Edit(offsets.start(tokens[closing]), offsets.end(tokens[closing]), f"{epilogue}}}}}"))
    for span in (*caller_barriers(body, barriers), *caller_buffers(body, buffers)):
        edits.append(_Edit(offsets.start(body[span.first]), offsets.end(body[span.last]), span.text))
    inside = list(_edits_of_body(body, offsets, budgets))
    ends = [offsets.end(tokens[opening]), *(offsets.end(token) for token in body)]
    lead = [text[end : offsets.start(token)] for end, token in zip(ends, body)]
    edits += [_Edit(offsets.start(loop), offsets.start(loop), pragma) for loop, pragma in loop_pragmas(body, lead)]
    words = {token.text for token in body}
    return DeviceFunction(
        _apply(text, [*edits, *(edit for edit, _ in inside)]),
        kernel,
        tuple(parameter.type for parameter in definition.parameters),
        uses_grid="gridDim" in words or any(swizzles for _, swizzles in inside),
        uses_shared="__shared__" in words and any(SHARED in edit.text for edit, _ in inside),
        stores_by_tma=any(word.startswith("tma_store") for word in words),
        budgets=budgets,
        barriers=tuple(barriers),
        buffers=tuple(buffers),
    )


def _definition(text: str, kernel: str) -> CppFunction:
    kernels = [f for f in functions(text) if f.is_kernel and f.is_definition]
    found = [f for f in kernels if f.name == kernel]
    if len(kernels) != 1 or not found:
        names = ", ".join(f.name for f in kernels) or "none"
        raise UnsupportedFeatureError(f"TileLang's text was expected to define the kernel `{kernel}` only, got {names}")
    return found[0]


def _statements(tokens: Sequence[Token]) -> Iterator[tuple[int, int, int]]:
    """(first, opening brace or -1, last) of each statement at file level; a namespace is one."""
    first, depth, opening = 0, 0, -1
    for index, token in enumerate(tokens):
        if token.text == "{":
            opening = index if depth == 0 else opening
            depth += 1
        elif token.text == "}":
            depth -= 1
        if depth == 0 and token.text in (";", "}"):
            yield first, opening, index
            first, opening = index + 1, -1


def _forward_declarations(tokens: Sequence[Token], kernel: str) -> Iterator[list[Token]]:
    for first, opening, last in _statements(tokens):
        texts = [token.text for token in tokens[first:last]]
        if opening < 0 and "__global__" in texts and kernel in texts:
            yield [tokens[first], tokens[last]]


def _parts(tokens: Sequence[Token], definition: CppFunction) -> tuple[int, int, int]:
    """Indices of the header's first token, of the body's brace and of its end."""
    place = (definition.line, definition.column)
    for first, opening, last in _statements(tokens):
        if opening >= 0 and any((t.line, t.column) == place for t in tokens[first:opening]):
            return first, opening, last
    raise UnsupportedFeatureError(f"TileLang's kernel `{definition.name}` has a form that this release does not know")


def _parameter_texts(text: str, offsets: _Offsets, header: Sequence[Token]) -> list[str]:
    """The parameter list as written: what stands in the header's last parentheses."""
    depth, opening = 0, 0
    for index in reversed(range(len(header))):
        depth += (header[index].text == ")") - (header[index].text == "(")
        if header[index].text == "(" and depth == 0:
            opening = index
            break
    inside = text[offsets.end(header[opening]) : offsets.start(header[-1])].strip()
    return [_BY_VALUE.sub(r"const CUtensorMap& \1", inside)] if inside else []


def _edits_of_body(body: Sequence[Token], offsets: _Offsets, budgets: Budgets | None) -> Iterator[tuple[_Edit, bool]]:
    """Edits, each with whether it asks for the grid."""
    for index, token in enumerate(body):
        if token.text == "extern":
            yield _shared_memory(body, index, offsets), False
        elif token.text in _SWIZZLES:
            yield _swizzle(body, index, offsets), True
        elif token.text in (GIVE, TAKE):
            call = _call(body, index)
            number = _number(call)
            change = f"tle::tilelang::{_CHANGES[token.text]}<{budgets.fitted[number]}>({REGISTERS})" if budgets else ""
            yield _Edit(*offsets.span(call), change or "(void)0"), False


def _budgets(body: Sequence[Token], threads: int, block: int) -> Budgets | None:
    found: dict[str, list[int]] = {GIVE: [], TAKE: []}
    for index, token in enumerate(body):
        if token.text in found:
            found[token.text].append(_number(_call(body, index)))
    return fit_budgets(found[GIVE], found[TAKE], threads, block)


def _number(call: Sequence[Token]) -> int:
    """The one template argument of a call."""
    texts = [token.text for token in call]
    angle = texts.index("<") if "<" in texts else len(texts)
    if texts[angle + 2 : angle + 3] != [">"] or not texts[angle + 1].isdecimal():
        raise _unknown(call)
    return int(texts[angle + 1])


def _epilogue(body: Sequence[Token], barriers: Sequence[str]) -> str:
    """Ends the life of barriers in shared memory: a region may run again, and its memory has other uses then."""
    texts = [token.text for token in body]
    if "return" in texts:
        return ""  # some threads may be gone; TileLang's own initialisation writes over what is left
    lines = []
    for index, text in enumerate(texts):
        if (
            text == "uint64_t"
            and texts[index + 2 : index + 3] == ["["]
            and "__shared__" in texts[max(0, index - 8) : index]
            and texts[index + 1] not in map(memory, barriers)
        ):
            lines.append(f"tle::tilelang::end_barriers({texts[index + 1]}, {texts[index + 3]});")
    return " ".join(["__syncthreads();", *lines]) if lines else ""


def _shared_memory(body: Sequence[Token], index: int, offsets: _Offsets) -> _Edit:
    """``extern __shared__ __align__(1024) uchar name[];`` becomes a pointer to the memory that comes in."""
    end = next((i for i in range(index, len(body)) if body[i].text == ";"), len(body))
    texts = [token.text for token in body[index:end]]
    rest = texts[2:]
    if rest[:2] == ["__align__", "("] and ")" in rest:
        rest = rest[rest.index(")") + 1 :]
    *type_, name, opening, closing = rest if len(rest) >= 4 else ["", "", "", ""]
    if texts[1:2] != ["__shared__"] or (opening, closing) != ("[", "]") or not type_:
        raise _unknown(body[index:end])
    spelled = " ".join(type_)
    return _Edit(offsets.start(body[index]), offsets.end(body[end]), f"{spelled}* const {name} = ({spelled}*){SHARED};")


def _swizzle(body: Sequence[Token], index: int, offsets: _Offsets) -> _Edit:
    """``tl::rasterization2DRow<8>()`` gets the block and the grid that come in."""
    call = _call(body, index)
    texts = [token.text for token in call]
    angle = texts.index("<") if "<" in texts else len(texts)
    if texts[angle + 2 :] != [">", "(", ")"]:
        raise _unknown(call)
    text = f"{_SWIZZLES[body[index].text]}<{texts[angle + 1]}>({BLOCK}, {GRID})"
    return _Edit(offsets.start(call[0]), offsets.end(call[-1]), text)


def _call(body: Sequence[Token], index: int) -> list[Token]:
    """The tokens of a call, from its namespace to its closing parenthesis."""
    first = index
    while first >= 2 and body[first - 1].text == "::":
        first -= 2
    depth = 0
    for last in range(index, len(body)):
        depth += (body[last].text == "(") - (body[last].text == ")")
        if body[last].text == ")" and depth == 0:
            return list(body[first : last + 1])
    raise _unknown(body[first : index + 1])


def _unknown(tokens: Sequence[Token]) -> UnsupportedFeatureError:
    text = " ".join(token.text for token in tokens)[:200]
    return UnsupportedFeatureError(
        f"TileLang wrote `{text}`, a form that this release does not know",
        hint="report this with the PrimFunc and the version of TileLang",
    )


class _Offsets:
    """Where tokens stand in the text."""

    def __init__(self, text: str) -> None:
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def start(self, token: Token) -> int:
        return self._lines[token.line - 1] + token.column - 1

    def end(self, token: Token) -> int:
        return self.start(token) + len(token.text)

    def span(self, tokens: Sequence[Token]) -> tuple[int, int]:
        return self.start(tokens[0]), self.end(tokens[-1])


def _apply(text: str, edits: Sequence[_Edit]) -> str:
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
