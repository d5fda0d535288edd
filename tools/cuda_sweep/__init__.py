"""What ``tools/sweep_cuda.py`` is made of: the list of kernels, one kernel's trial, and the counts."""
