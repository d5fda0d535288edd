"""From a tile program to the five files, through the fourteen passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tle_raw.errors import TLEError
from tle_raw.targets.tenstorrent.emit import emit
from tle_raw.targets.tenstorrent.forward import forward
from tle_raw.targets.tenstorrent.ir import Module
from tle_raw.targets.tenstorrent.options import Options, read_options
from tle_raw.targets.tenstorrent.passes import run_passes
from tle_raw.targets.tenstorrent.passes.finalize_persistent_signature_tt import l1_map
from tle_raw.targets.tenstorrent.print_ir import print_module
from tle_raw.targets.tenstorrent.program import MetaliumProgram
from tle_raw.targets.tenstorrent.read_program import read_program
from tle_raw.targets.tenstorrent.webs import split_values
from tle_raw.tile_program import TileProgram


def lower_program(program: TileProgram, options: Options, dump: Callable[[str, Module], None] | None = None) -> Module:
    """The module of which the five files are written; ``dump`` sees it behind each pass.

    Raises
    ------
    UnsupportedFeatureError : what the dialect does not take, by name and at the user's line.
    LocalMemoryError : the buffers do not fit into a core's L1.
    """
    module = forward(split_values(read_program(program)))
    if dump is not None:
        dump("read_program", module)
    return run_passes(module, options, dump)


def compile_program(program: TileProgram, given: Mapping[str, Any]) -> MetaliumProgram:
    """A kernel with options as a user gives them."""
    options = read_options(given)
    dumps: dict[str, str] = {}
    try:
        module = lower_program(program, options, lambda name, left: dumps.update({name: print_module(left)}))
    except TLEError as e:
        raise e.at(fragment=program.name, source=program.location) from None
    return MetaliumProgram(emit(module, options.api), module, dumps, tuple(l1_map(module)), options.api)
