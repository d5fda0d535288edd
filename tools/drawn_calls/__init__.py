"""The kernels whose calls ``tools/draw_call.py`` follows."""
