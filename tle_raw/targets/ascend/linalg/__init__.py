"""Triton IR with operations of ``tle.dsa`` as Linalg on memrefs and tensors, in the form that bishengir-compile takes.

The CPU's Linalg form (``tle_raw/flir/cpu``) computes addresses; a DSA copies regions. So pointers stay what they are
made of, a base with an offset and strides (``values.py``), masks are sizes, and what has no such form is an error with
its name. The text is for MLIR of LLVM 19, which bishengir-compile 1.2 is made of.
"""
