"""TLE-Struct for GPUs, ``tle.gpu``: shared buffers, copies, barriers and what reads them, inside kernels."""
