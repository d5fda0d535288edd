"""What is spelled inside ``@triton.jit``: the raw calls of this release."""
