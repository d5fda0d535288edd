"""FLIR for NVIDIA GPUs: what happens to regions inside Triton's own stages."""
