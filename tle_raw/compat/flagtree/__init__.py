"""FlagTree's programs on stock Triton: ``install()`` makes ``triton.experimental.tle`` importable.

``python -m tle_raw.compat.flagtree script.py ...`` runs a program, in which nothing is edited. The names are those of
FlagTree's branches from January to September 2026, the older forms of calls among them. What these programs import as
``mlir`` is the binding of MLIR that is installed: a package ``mlir`` if there is one, else that of ``torch_mlir``.
"""

from tle_raw.compat.flagtree.finder import install

__all__ = ["install"]
