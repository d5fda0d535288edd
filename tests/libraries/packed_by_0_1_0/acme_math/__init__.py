"""Intrinsics of acme_math."""
# Written by `tle-raw pack`.
from tle_raw.libraries.library import open_library as _open_library

_library = _open_library(__file__)
__version__ = '1.0.0'
__all__ = [
    'softplus',
    'clip',
    'count_bytes',
    'rms_rows',
]

softplus = _library.function('softplus')
clip = _library.function('clip')
count_bytes = _library.function('count_bytes')
rms_rows = _library.function('rms_rows')
