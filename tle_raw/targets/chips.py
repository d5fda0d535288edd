"""The local memories of DSA chips: what ``tle.dsa`` has on the CPU, and what is planned for on a card.

The numbers are those of the device descriptions in Huawei's open AscendNPU IR (`hacc.target_device_spec`, as
bishengir-compile of the wheel ``ascendnpu-ir`` 1.2.0 writes it into each module, there in bits). They are equal for all
chips of the 910B and 910_93 families (`dav-c220`), which differ in their number of cores, and for those of the 950
family (`dav-c310`). ``tests/targets/ascend/test_chips.py`` compares them where the wheel is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

KIB = 1024
DEFAULT_CHIP = "910B3"
# By memory space, in bytes, of one core.
_C220: Mapping[str, int] = MappingProxyType(
    {"UB": 192 * KIB, "L1": 512 * KIB, "L0A": 64 * KIB, "L0B": 64 * KIB, "L0C": 128 * KIB}
)
_C310: Mapping[str, int] = MappingProxyType({**_C220, "UB": 248 * KIB, "L0C": 256 * KIB})
_OF_C220 = (
    *("910B", "910B1", "910B2", "910B2C", "910B3", "910B4", "910B4-1"),
    *("910_9362", "910_9372", "910_9381", "910_9382", "910_9391", "910_9392"),
)
_OF_C310 = ("950PR_9579", "950PR_9589", "950PR_9599", "950DT_9571", "950DT_9581", "950DT_9591")
CHIPS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {**dict.fromkeys(_OF_C220, _C220), **dict.fromkeys(_OF_C310, _C310)}
)
# What a buffer takes is a multiple of this.
ALIGNMENT: Mapping[str, int] = MappingProxyType({"UB": 32, "L1": 32, "L0A": 512, "L0B": 512, "L0C": 512})


def chip_name(value: object) -> str:
    """A chip of the table."""
    if not isinstance(value, str) or value not in CHIPS:
        raise ValueError
    return value


# What an error of the knob says was expected.
chip_name.__doc__ = ", ".join(CHIPS)


def aligned(space: str, bytes_: int) -> int:
    """What a buffer of so many bytes takes in a space."""
    unit = ALIGNMENT[space]
    return -(-bytes_ // unit) * unit
