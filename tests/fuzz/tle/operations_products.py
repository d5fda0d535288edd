"""Products of shared buffers: ``wgmma``, and ``tl.dot`` of what buffers hold."""

from __future__ import annotations

import math

from tests.fuzz.tle.building import TleBuilder, View, places
from tests.fuzz.values import Value, rounding


def _operands(b: TleBuilder, trans: bool) -> tuple[View, View, tuple[int, int, int], str]:
    m, n, k = b.choice([(64, 16, 32), (64, 32, 64), (64, 64, 32), (128, 32, 64)])
    dtype = b.choice(["float16", "bfloat16", "int8"] if trans else ["float16", "bfloat16"])
    a, other = (b.buffer(dtype, shape, layout="default") for shape in ((m, k), (n, k) if trans else (k, n)))
    for view in (a, other):
        array = b.array(dtype, b.programs * math.prod(view.shape))
        source = f"{array} + {b.offsets(view.shape)}"
        plain = f"tl.store({view.name} + {places(view.shape, view.strides)}, tl.load({source}))"
        b.either(f"tle.gpu.copy({source}, {view.name}, {list(view.shape)})", plain)
    return a, other, (m, n, k), dtype


def product(b: TleBuilder) -> Value:
    trans = b.flag()
    a, other, (m, n, k), dtype = _operands(b, trans)
    result = "int32" if dtype == "int8" else "float32"
    out = f", out_dtype=tl.{result}" if result == "int32" else ""
    acc = b.value((result,), (m, n), exact=True) if b.flag() else None
    acc = b.bounded(acc, 64.0) if acc else None
    plain = [f"tl.load({view.name} + {places(view.shape, view.strides)})" for view in (a, other)]
    plain[1] = f"tl.trans({plain[1]})" if trans else plain[1]
    start = f", {acc.name}" if acc else ""
    same = f"tl.dot({plain[0]}, {plain[1]}{start}{out})"
    largest, error = math.inf, 0.0
    if result == "float32":
        largest = 16.0 * k + (acc.largest if acc else 0)
        error = (k + 1) * rounding(result, largest)
    if b.has_stages or b.flag():
        second = f"{other.name}.trans().load()" if trans else f"{other.name}.load()"
        return b.emit_either(f"tl.dot({a.name}.load(), {second}{start}{out})", same, result, (m, n), largest, error)
    b.waits_for_wgmma = True
    form = f"tle.gpu.wgmma({a.name}, {other.name}{start}{out}{', trans_b=True' * trans})"
    value = b.emit_either(form, same, result, (m, n), largest, error)
    b.values.pop()
    return b.emit_either(f"tle.gpu.wgmma_wait(0, {value.name})", value.name, result, (m, n), largest, error)


def products_in_a_loop(b: TleBuilder) -> Value:
    """Two slots, one product in the background."""
    if b.has_stages:
        return product(b)
    b.waits_for_wgmma = True
    m, n, k = b.choice([(64, 16, 32), (64, 32, 64)])
    dtype, rounds, step = b.choice(["float16", "bfloat16"]), b.integer(1, 4), b.name("i")
    a, other = (b.buffer(dtype, (2, *shape), slots=True, layout="default") for shape in ((m, k), (n, k)))
    del b.views[-2:]
    acc = b.emit(f"tl.zeros([{m}, {n}], tl.float32)", "float32", (m, n))
    b.values.pop()
    arrays = [b.array(dtype, b.programs * rounds * k * width) for width in (m, n)]
    ahead = b.choice([0, 1])
    with b.exactly(), b.block(f"for {step} in range({rounds}):"):
        for view, array, width in ((a, arrays[0], m), (other, arrays[1], n)):
            tile = (width, k)
            source = f"{array} + (pid * {rounds} + {step}) * {width * k} + {places(tile, (k, 1))}"
            slot = f"{view.name} + {step} % 2 * {width * k} + {places(tile, (k, 1))}"
            copy = f"tle.gpu.copy({source}, {view.name}[{step} % 2], {list(tile)})"
            b.either(copy, f"tl.store({slot}, tl.load({source}))")
        operands = f"{a.name}[{step} % 2], {other.name}[{step} % 2]"
        slots = (
            f"tl.load({v.name} + {step} % 2 * {w * k} + {places((w, k), (k, 1))})" for v, w in ((a, m), (other, n))
        )
        first, second = slots
        b.either(
            f"{acc.name} = tle.gpu.wgmma({operands}, {acc.name}, trans_b=True)",
            f"{acc.name} = tl.dot({first}, tl.trans({second}), {acc.name})",
        )
        b.either(f"{acc.name} = tle.gpu.wgmma_wait({ahead}, {acc.name})", "pass")
    largest = 16.0 * k * rounds
    error = (k * rounds + rounds) * rounding("float32", largest)
    form = f"tle.gpu.wgmma_wait(0, {acc.name})"
    value = b.emit_either(form, acc.name, "float32", (m, n), largest, error)
    b.changed.add(value.name)
    return value


OPERATIONS = (product, products_in_a_loop)
