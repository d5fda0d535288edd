"""Intrinsic libraries: packages of typed device functions that are called in kernels without a compiler."""
