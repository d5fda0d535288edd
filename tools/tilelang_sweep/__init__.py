"""The parts of ``tools/sweep_tilelang.py``: what runs in an example's own process, and what becomes of its kernels."""
