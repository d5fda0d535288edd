"""What compilers and ptxas wrote: ELF objects, machine code of NVIDIA GPUs, mangled names."""
