"""Loops over tiles whose copies get a warp of their own: which kernels have them, and what is done with them.

Nothing here knows Triton: cuTile's typed IR is read, and a plan comes out. ``traced/specialised.py`` writes it.
"""
