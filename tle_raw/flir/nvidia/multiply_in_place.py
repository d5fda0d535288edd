"""On sm_90 a product of two tiles that come straight from buffers reads the buffers.

Triton's own passes would load a buffer into registers and store it into another for ``wgmma``. ``tt.dot`` of two
``ttg.local_load`` becomes ``ttng.warp_group_dot`` on the buffers, with the layout of accumulators that Triton chooses
itself. It is asynchronous:

* of ``tle.gpu.wgmma``, which is noted, the waits are the kernel's;
* behind that of a plain ``tl.dot`` a wait stands at once. (Without one Triton's software pipeliner would leave one
  product under way while the kernel writes into its buffers.)

Of a plain ``tl.dot`` the left tile may also be one that the kernel computed: it stays in registers, and the right one
in its buffer. One that was loaded from global memory is Triton's, which copies it in the background.

Between a load and its product the kernel may wait for barriers. It may arrive at some and store elsewhere where a pipe
keeps the buffer as it is (``pipe_windows``).

A tile that is transposed on the way, as in ``tl.dot(a.load(), b.load().T)``, is read through a transposed view.

On sm_100 a product into tensor memory runs in the background too: without a word to that effect Triton waits behind it.

Triton 3.6's software pipeliner follows the buffer of a product in a loop to where it is made, and never ends at another
block's argument, as a partition has, nor at a buffer that a loop hands on. Such a ``tl.dot`` is left to Triton, which
copies; one that reads a slot of it is not, nor is ``tle.gpu.wgmma``, whose kernels the pipeliner never sees.

Triton 3.6 puts a fence between stores into a buffer and ``wgmma``, but none behind ``cp.async``, nor behind stores into
a slot (``stored_slots``), which the tensor core may then miss: it stands before the product.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tle_raw.flir.nvidia.blocked_layout import read_tensor, with_layout
from tle_raw.flir.nvidia.buffer_types import PREFIX, element_bits, layout_aliases, read_buffer_type
from tle_raw.flir.nvidia.line_edits import LineEdits
from tle_raw.flir.nvidia.partitions import warps_of_lines
from tle_raw.flir.nvidia.pipe_windows import PipeWindows
from tle_raw.flir.nvidia.stored_slots import StoredSlots
from tle_raw.linker.mlir.generic_operation import GenericOperation, generic_name, read_generic
from tle_raw.linker.mlir.text import find_lines, split_top_level

COPY = "ttg.async_copy_global_to_local"
DOT, LOAD, CONVERT, WAIT = "tt.dot", "ttg.local_load", "ttg.convert_layout", "ttng.warp_group_dot_wait"
TENSOR, _IN_BACKGROUND = "ttng.tc_gen5_mma", "is_async"
_WGMMA, _FENCE, _VIEW = "ttng.warp_group_dot", "ttng.fence_async_shared", "ttg.memdesc_trans"
_VIEWS, _SLOT = '"ttg.memdesc_', "ttg.memdesc_index"
_ARGUMENT = re.compile(r"(%[\w$.\-]+): !ttg\.memdesc<")
TRANS, _SWAPPED = "tt.trans", "order = array<i32: 1, 0>"
NOTE = "tle.note"
HOPPER = 90
_NOTED = '"wgmma"'
_ELEMENTS = ("f16", "bf16", "f8E4M3FN", "f8E5M2", "i8")
_WARPGROUP = 4
_WIDEST = 256  # columns of one instruction
# What may stand between a load and the product that reads the buffer in its stead: nothing that writes shared memory.
_BETWEEN = (
    *("arith.", "math.", LOAD, CONVERT, TRANS, "ttg.memdesc", "tti.experimental_memdesc", DOT),
    *("tt.load", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.make_range", "tt.fp_to_fp"),
    *("tt.reduce", "tt.scan", "tt.int_to_ptr"),
    # nobody writes into a buffer because this partition waits: what gives it away is an arrival
    "ttng.wait_barrier",
)
_REDUCTIONS = ("tt.reduce", "tt.scan")  # whose regions touch no memory
_GLOBAL = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_WHOLE = re.compile(r"\d+(?:x\d+)+")  # the shape of what a buffer is a part of
_PRECISION = re.compile(r"inputPrecision = (\d+) : i32")
_IMPRECISE = re.compile(r"maxNumImpreciseAcc = (\d+) : i32")


def multiply_in_place(
    text: str, num_warps: int, capability: int, *, fences: bool, from_arguments: bool
) -> tuple[str, int, int]:
    """TritonGPU text in generic form; how many products read buffers, and how many of them run in the background.

    Parameters
    ----------
    fences : put a fence before each product where buffers are filled by ``cp.async``, and before one that reads a
        buffer whose slots are stored into: this Triton does not.
    from_arguments : a plain product may read a buffer that a block is given: this Triton's pipeliner ends there.
    """
    if not any(f'"{name}"' in text for name in (DOT, WAIT, TENSOR)):
        return text, 0, 0
    lines = text.splitlines()
    endless = frozenset[str]() if from_arguments else _of_arguments(text, lines)
    rewriter = _Rewriter(text, lines, num_warps, layout_aliases(lines), capability == HOPPER, fences, endless)
    edits = LineEdits(lines)
    for number in find_lines(text, *(f'"{name}"' for name in (LOAD, CONVERT, TRANS, DOT, WAIT, TENSOR))):
        if (made := rewriter.rewrite(number, lines[number])) is not None:
            edits.replace(number, made)
    if not rewriter.changed:
        return text, 0, 0
    heads = [f"{name} = {layout}" for name, layout in rewriter.layouts.items()]
    return "\n".join([*heads, edits.text()]), rewriter.in_place, rewriter.in_background


@dataclass(frozen=True)
class _Operand:
    """A buffer's name and type; of a tensor in registers the tensor's. ``view`` is a line that makes the buffer."""

    name: str
    type: str
    is_buffer: bool
    view: str = ""


class _Rewriter:
    def __init__(
        self,
        text: str,
        lines: Sequence[str],
        num_warps: int,
        aliases: dict[str, str],
        has_wgmma: bool,
        fences: bool,
        endless: frozenset[str],
    ) -> None:
        self.lines, self.aliases, self.has_wgmma = lines, aliases, has_wgmma
        self.warps = warps_of_lines(lines, num_warps)
        self.slots = StoredSlots(text, lines, [partition for partition, _ in self.warps]) if fences else None
        self.has_copies = fences and f'"{COPY}"(' in text
        self.partition, self.num_warps = 0, num_warps  # of the line that is rewritten
        dots = (n for n in find_lines(text, f'"{DOT}"') if NOTE in lines[n] and generic_name(lines[n]) == DOT)
        noted = {n: read_generic(lines[n]) for n in dots}
        # Of the products in the background, by the dims of their results: what waits for one has its layout.
        self.waited = {(self.warps[n][0], read_tensor(dot.result_types[0])[0]): dot for n, dot in noted.items()}
        # What was loaded from global memory.
        self.loaded = {lines[n].split("=", 1)[0].strip() for n in find_lines(text, *(f'"{name}"' for name in _GLOBAL))}
        self.windows = PipeWindows(lines)
        self.endless = endless
        self.layouts: dict[str, str] = {}
        self.known: dict[str, int] = {}  # the latest line that defines a name
        self.in_place = self.in_background = self.views = 0
        self.changed = False

    def rewrite(self, number: int, line: str) -> list[str] | None:
        """What stands in place of a line; None where it stays."""
        name = generic_name(line)
        self.partition, self.num_warps = self.warps[number]
        if name in (LOAD, CONVERT) or (name == TRANS and _SWAPPED in line):
            self.known[line.split("=", 1)[0].strip()] = number
        if name == DOT:
            return self._dot(number, read_generic(line))
        if name == TENSOR and _IN_BACKGROUND not in line:
            self.changed = True
            self.in_background += 1
            return [line.replace("<{", f"<{{{_IN_BACKGROUND}, ", 1)]
        if name == WAIT:
            return self._wait(read_generic(line))
        return None

    def _dot(self, number: int, dot: GenericOperation) -> list[str]:
        noted = dot.attribute(NOTE) == _NOTED
        plain = [str(dot.without_attribute(NOTE))] if noted else [self.lines[number]]
        self.changed |= noted
        a, b = (self._operand(number, dot.operands[i], dot.types[i], noted) for i in (0, 1))
        in_registers = noted or self._source(dot.operands[0]) not in self.loaded
        if not self.has_wgmma or not b.is_buffer or not (a.is_buffer or in_registers) or not self._fits(dot, a, b):
            return plain
        self.changed = True
        self.in_place += 1
        self.in_background += noted
        return self._wgmma(dot, a, b, noted, self._wants_fence(number, (a, b)))

    def _operand(self, number: int, name: str, type_: str, in_background: bool) -> _Operand:
        """Where a value comes from, if nothing was written between, or nothing there."""
        given, place, swapped = name, number, False
        while given in self.known:
            place = self.known[given]
            operation = read_generic(self.lines[place])
            if operation.name == LOAD:
                between = [n for n in range(place + 1, number) if not writes_nothing(self.lines[n])]
                # What reads in the background reads beyond this line.
                if not between or (not in_background and self.windows.keep(place, number, between)):
                    if operation.operands[0] in self.endless and not in_background:
                        break
                    buffer = _Operand(operation.operands[0], operation.types[0], True)
                    return self._swapped(buffer, operation) if swapped else buffer
                break
            swapped ^= operation.name == TRANS
            given = operation.operands[0]
        return _Operand(name, type_, False)

    def _source(self, name: str) -> str:
        """The value whose layout, and order of axes, was changed."""
        while name in self.known and (operation := read_generic(self.lines[self.known[name]])).name in (CONVERT, TRANS):
            name = operation.operands[0]
        return name

    def _swapped(self, buffer: _Operand, load: GenericOperation) -> _Operand:
        """A view of it with rows for columns."""
        known = read_buffer_type(buffer.type, self.aliases)
        was, becomes = ("true", "false") if "transposed = true" in known.layout else ("false", "true")
        alias = f"#tle_swapped_{len(self.layouts)}"
        layout = known.layout.replace(f"transposed = {was}", f"transposed = {becomes}")
        alias = next((name for name, text in self.layouts.items() if text == layout), alias)
        self.layouts[alias] = self.aliases[alias] = layout
        _, *rest = split_top_level(buffer.type.removeprefix(PREFIX)[:-1])
        dims = "x".join(map(str, reversed(known.dims)))
        others = [_WHOLE.sub(_reversed, part.strip()) for part in rest[1:]]
        type_ = f"{PREFIX}{', '.join([f'{dims}x{known.element}', alias, *others])}>"
        name = f"%tle_swapped_{self.views}"
        self.views += 1
        if self.slots is not None:
            self.slots.add_view(name, buffer.name)
        view = GenericOperation(_VIEW, (buffer.name,), (buffer.type,), (type_,), name, _SWAPPED, location=load.location)
        return _Operand(name, type_, True, str(view))

    def _fits(self, dot: GenericOperation, a: _Operand, b: _Operand) -> bool:
        """Whether the hardware multiplies such tiles in such layouts."""
        (rows, columns), _ = read_tensor(dot.result_types[0])[:2]
        elements = [_element(operand) for operand in (a, b)]
        buffers = [read_buffer_type(o.type, self.aliases) for o in (a, b) if o.is_buffer]
        depth = read_tensor(dot.types[0])[0][1]
        narrow = element_bits(elements[0]) == 8
        return (
            elements[0] == elements[1]
            and elements[0] in _ELEMENTS
            and all("#ttg.nvmma_shared" in buffer.layout for buffer in buffers)
            and rows % 64 == 0
            and columns % 8 == 0
            and depth * element_bits(elements[0]) >= 256
            and self.num_warps % _WARPGROUP == 0
            # eight-bit operands lie along K
            and not (narrow and (_is_transposed(buffers[0], a) or not _is_transposed(buffers[-1], b)))
        )

    def _wgmma(self, dot: GenericOperation, a: _Operand, b: _Operand, noted: bool, is_fenced: bool) -> list[str]:
        result, loc, indent = dot.result_types[0], dot.location, dot.indent
        layout = self._layout(result, element_bits(_element(a)))
        wide = with_layout(result, layout)
        name = f"%tle_wgmma_{self.in_place}"
        precision, imprecise = _PRECISION.search(dot.properties), _IMPRECISE.search(dot.properties)
        properties = (
            f"inputPrecision = {precision[1] if precision else 0} : i32, isAsync = true, "
            f"maxNumImpreciseAcc = {imprecise[1] if imprecise else 0} : i32"
        )
        fence = GenericOperation(_FENCE, properties="bCluster = false", indent=indent, location=loc)
        lines = [f"{indent}{operand.view}" for operand in (a, b) if operand.view]
        lines += [str(fence)] if is_fenced else []
        left, left_type = a.name, a.type
        if not a.is_buffer:
            width = 32 // element_bits(_element(a))
            left_type = with_layout(dot.types[0], f"#ttg.dot_op<{{opIdx = 0, parent = {layout}, kWidth = {width}}}>")
            left = f"{name}_a"
            lines.append(_on_one(CONVERT, a.name, dot.types[0], left, left_type, dot))
        operands, types = (left, b.name, f"{name}_c"), (left_type, b.type, wide)
        lines += [
            _on_one(CONVERT, dot.operands[2], result, f"{name}_c", wide, dot),
            str(GenericOperation(_WGMMA, operands, types, (wide,), name, properties, "", indent, loc)),
        ]
        if not noted:
            lines.append(_on_one(WAIT, name, wide, f"{name}_w", wide, dot, "pendings = 0 : i32"))
        done = name if noted else f"{name}_w"
        return [*lines, _on_one(CONVERT, done, wide, dot.results, result, dot)]

    def _wants_fence(self, number: int, operands: Sequence[_Operand]) -> bool:
        """Whether tensor cores may miss what lies in the buffers, and Triton does nothing about it."""
        if self.has_copies or self.slots is None:
            return self.has_copies
        return any(self.slots.wants_fence(number, each.name) for each in operands if each.is_buffer)

    def _layout(self, result: str, operand_bits: int) -> str:
        """Of accumulators: what Triton's own pass for products chooses."""
        rows, columns = read_tensor(result)[0]
        over_columns = max(self.num_warps // max(rows // 16, 1), 1)
        width = min(_WIDEST, max(columns // over_columns, 8), columns)
        warps = [_WARPGROUP, 1]
        while warps[0] * warps[1] < self.num_warps:
            axis = 0 if rows > 16 * warps[0] else 1
            warps[axis] *= 2
        shape = [16, width, 256 // operand_bits]
        name = f"#tle_mma_{warps[0]}x{warps[1]}_{'x'.join(map(str, shape))}"
        self.layouts[name] = (
            f"#ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = {warps}, instrShape = {shape}}}>"
        )
        return name

    def _wait(self, wait: GenericOperation) -> list[str]:
        """The wait on the accumulators' own layout; where nothing runs in the background it is its operand."""
        self.changed = True
        type_, name = wait.result_types[0], f"%tle_wait_{wait.results[1:]}"
        dot = self.waited.get((self.partition, read_tensor(type_)[0]))
        if dot is None or not self.has_wgmma or self.num_warps % _WARPGROUP:
            return [_on_one(CONVERT, wait.operands[0], type_, wait.results, type_, wait._replace(location=""))]
        wide = with_layout(type_, self._layout(type_, element_bits(read_tensor(dot.types[0])[1])))
        return [
            _on_one(CONVERT, wait.operands[0], type_, f"{name}_c", wide, wait),
            _on_one(WAIT, f"{name}_c", wide, name, wide, wait, wait.properties),
            _on_one(CONVERT, name, wide, wait.results, type_, wait),
        ]


def _of_arguments(text: str, lines: Sequence[str]) -> frozenset[str]:
    """Buffers that blocks are given, as partitions are, and views of them: but not slots, which products may read."""
    heads = (line for line in lines if PREFIX in line and line.lstrip().startswith("^"))
    found = {argument[1] for line in heads for argument in _ARGUMENT.finditer(line)}
    for number in find_lines(text, _VIEWS):
        if generic_name(lines[number]) != _SLOT and (view := read_generic(lines[number])).operands[0] in found:
            found.add(view.results)
    return frozenset(found)


def _reversed(dims: re.Match[str]) -> str:
    return "x".join(reversed(dims[0].split("x")))


def writes_nothing(line: str) -> bool:
    """Whether an operation, or a line of a reduction's, leaves shared memory as it is."""
    name = generic_name(line)
    if not name:
        return line.lstrip().startswith(("^", "})"))
    return name.startswith(_BETWEEN) and ("({" not in line or name in _REDUCTIONS)


def _on_one(
    name: str, operand: str, type_: str, result: str, gives: str, near: GenericOperation, properties: str = ""
) -> str:
    """An operation on one value, where another one stands."""
    return str(
        GenericOperation(name, (operand,), (type_,), (gives,), result, properties, "", near.indent, near.location)
    )


def _element(operand: _Operand) -> str:
    if operand.is_buffer:
        return read_buffer_type(operand.type, {}).element
    return read_tensor(operand.type)[1]


def _is_transposed(buffer: object, operand: _Operand) -> bool:
    return operand.is_buffer and "transposed = true" in getattr(buffer, "layout", "")
