"""The TLE dialect: regions as one operation each, as ``kernel.asm["tle"]`` shows them.

The operations are defined once, as data, in ``definitions``. Out of that come the verifier (``operations``), both of
the printed forms (``print_operations``), the registration for upstream MLIR (``irdl``) and the documentation
(``document``).
"""
