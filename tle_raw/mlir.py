"""The language of ``@tle_raw.dialect("mlir")``: dtypes, threads, shuffles, atomics, mathematics, printing.

The body of a decorated function is the code. Each thread of the block runs it. It is Python, read from its source and
never run: numbers, tuples, ``if``, ``while``, ``for … in range(…)``, ``break``, ``continue``, ``return``, ``assert``,
conditional and chained expressions, ``and``/``or`` (which stop early), and calls of ``@tle_raw.mlir.function``, which
are inlined. What Python can compute (literals, dims and dtypes of the signature, constants from around the function)
is computed when the function is read; an ``if`` on such a constant leaves one side only.

Types
-----
- A literal takes the type of the value that it meets: ``h * 2`` of an f16 is an f16, ``i * 0.5`` of an integer an f32.
  By itself it is an i1, i32 (i64 where it must be) or f32. A literal that a loop changes is an i32 or f32, or wider
  where the loop makes it wider.
- bool gives way to integers, integers to floats, the narrower to the wider; f16 with bf16 is f32. Of integers of
  different signedness the unsigned one wins, unless the other is wider. Integers wrap.
- ``/`` gives a float: f32 of integers. ``//`` and ``%`` round down, as in Python. ``<<`` and ``>>`` keep the left type.
- ``t[i] = x`` converts x to the element type, ``f32(x)`` and ``x.to("f32")`` convert, ``bitcast`` keeps the bits.
  fp8 values are loaded, stored, compared and converted; rounding is to the nearest, and saturates.
- A variable keeps its type in a loop and where branches meet; what has no value on some path cannot be used.

Values
------
``t[i, j]`` and ``t.flat[i]`` are elements of a tile (``t.shape``, ``t.size``, ``t.dtype``, ``len(t)``), ``p[i]`` of
the memory behind a pointer, ``p + i`` a pointer further on. ``shared("f32", 32)`` is static shared memory,
``load_vector(p, i, 4)`` one access of 16 bytes. ``min``, ``max``, ``abs``, ``divmod``, ``round``, ``sum`` and the
functions of ``math`` work on values.

A parameter that is a ``Barrier`` is one of the kernel's: ``barrier_wait(full, use)``, ``barrier_arrive(empty)``,
``barrier_expect(full, bytes)``, ``barrier_copy(full, tile, pointer, bytes)``, ``barrier_arrive_after_copies(full)`` do
for the calling thread what the members of ``tle::barrier`` do in C++. Of a ``Descriptor`` it begins copies of blocks:
``descriptor_load(descriptor, buffer, full, row, column)``, ``descriptor_store(descriptor, buffer, row, column)`` and
``wait_for_stores()``.

Builders of an installed MLIR binding (``from torch_mlir.dialects import arith, memref, linalg``) can be called on
values; a tile is a memref to them. Such a function is built in that binding; all others as text, which needs nothing
but Triton. ``dialect("mlir", route=…)`` says which.
"""

from tle_raw.adapters.mlir.edsl.language import *  # noqa: F403
from tle_raw.adapters.mlir.edsl.language import __all__ as __all__
