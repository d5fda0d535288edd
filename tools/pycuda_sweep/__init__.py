"""The parts of ``tools/sweep_pycuda.py``."""
