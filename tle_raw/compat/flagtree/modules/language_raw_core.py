"""``triton.experimental.tle.language.raw.core``: where FlagTree's own files import the calls from."""

from tle_raw.compat.flagtree.modules.language_raw import __all__ as __all__
from tle_raw.compat.flagtree.modules.language_raw import call as call
from tle_raw.compat.flagtree.modules.language_raw import call_smem as call_smem
