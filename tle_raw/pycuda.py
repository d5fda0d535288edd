"""PyCUDA's classes by their own names and arguments. Each gives a fragment; PyCUDA need not be installed.

``SourceModule(source, …).get_function("name")`` is a ``__global__`` or ``__device__`` function as a region.
``ElementwiseKernel(arguments, operation, …)`` is applied to tensors in registers: ``z = axpy(a, x, y)``.
``ReductionKernel(dtype_out, neutral, reduce_expr, …)`` reduces tiles to a scalar, or along an axis.
``InclusiveScanKernel`` and ``ExclusiveScanKernel`` scan a tile along its last axis.
``remember()`` lets ``tle_raw.fragment`` take the objects that PyCUDA itself makes from here on.
"""

from tle_raw.adapters.pycuda.elementwise import ElementwiseKernel
from tle_raw.adapters.pycuda.recorded import remember
from tle_raw.adapters.pycuda.reduction import ReductionKernel
from tle_raw.adapters.pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel
from tle_raw.adapters.pycuda.source_module import SourceModule

__all__ = [
    "ElementwiseKernel",
    "ExclusiveScanKernel",
    "InclusiveScanKernel",
    "ReductionKernel",
    "SourceModule",
    "remember",
]
