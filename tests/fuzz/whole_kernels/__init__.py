"""Random ``__global__`` functions as whole kernels for NVIDIA GPUs; the code that a GPU gets runs on this machine."""
