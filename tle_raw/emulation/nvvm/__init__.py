"""NVVM intrinsics as functions for the host: each one that a fragment uses gets a definition here.

A definition is a few lines of LLVM IR, or a call of the runtime in ``tle_raw/include/tle_raw/team``. The types are
those of the intrinsic's own declaration. What is not here cannot be emulated, and is an error that names it.
"""
