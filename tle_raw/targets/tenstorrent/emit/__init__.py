"""The five files of a program: reader, compute kernel, writer, host program, plan."""

from __future__ import annotations

from tle_raw.targets.tenstorrent.emit.kernel_file import kernel_file
from tle_raw.targets.tenstorrent.emit.main_file import main_file
from tle_raw.targets.tenstorrent.ir import ROLES, Module
from tle_raw.targets.tenstorrent.kernel_api import release
from tle_raw.targets.tenstorrent.plan import FILE, plan_of, write_plan


def emit(module: Module, api_release: str = "") -> dict[str, str]:
    """Write a program in its final form.

    Parameters
    ----------
    api_release : of Metalium, "0.81.1" by default, or "0.70.1".

    Returns
    -------
    The text of each file by its name; the same program gives the same bytes.

    Raises
    ------
    LoweringError : something that the final form does not have.
    PlanError : its cores compute a block twice, or not at all.
    UnsupportedFeatureError : an operation or a release that is not known.
    """
    table = release(api_release)
    files = {
        f"{role}.cpp": kernel_file(module.kernels[role], module, table) for role in ROLES if role in module.kernels
    }
    files["main.cpp"] = main_file(module, table)
    files[FILE] = write_plan(plan_of(module, release=table.name))
    return files
