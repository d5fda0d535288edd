"""What is spelled inside ``@triton.jit`` functions: ``import tle_raw.language as tle``.

The calls of fragments and TLE-Lite, under FlagTree's names. TLE-Struct will stand here too. To import it gives
``tl.tensor`` the methods ``extract_tile`` and ``insert_tile``, unless Triton has some of its own.
"""

from tle_raw.frontends.gpu import language as gpu
from tle_raw.frontends.lite.cumsum import cumsum
from tle_raw.frontends.lite.extract_tile import extract_tile
from tle_raw.frontends.lite.insert_tile import insert_tile
from tle_raw.frontends.lite.load import load
from tle_raw.frontends.lite.tensor_methods import add_tensor_methods
from tle_raw.frontends.raw.call import call, call_smem
from tle_raw.regions.stages import install

__all__ = ["call", "call_smem", "cumsum", "extract_tile", "insert_tile", "load"]

install()
add_tensor_methods(extract_tile, insert_tile)
