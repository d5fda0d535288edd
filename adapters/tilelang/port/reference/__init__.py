"""What a PrimFunc computes, from its TIR alone: NumPy on the CPU, floats in 64 bits, nothing of a region's routes."""
