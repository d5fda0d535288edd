"""What the dialects of CUDA C++ text share: reading it, spelling its types, and the clang that compiles it."""
