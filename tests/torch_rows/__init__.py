"""What is tried of torch with kernels that hold regions and TLE-Struct: the rows of the table in `docs/torch.md`.

A row is a function ``(device)`` that fails where torch gives other numbers than a float64 reference, or no error where
one is promised. `rows.ROWS` names them. They run on a GPU and, by the CPU target, on the CPU.
"""
