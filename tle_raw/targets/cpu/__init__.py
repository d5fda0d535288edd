"""CPUs as a Triton backend. Triton imports ``compiler`` and ``driver`` whenever it is imported itself."""

# Whoever imports a part of this package first brings Triton, which then imports the rest: the other way round, Triton
# would look for the driver in a module that is only half there.
import triton as triton
