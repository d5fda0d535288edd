"""Device code in, one checked module out: ``link`` takes LLVM IR, bitcode, PTX, fatbins, LTO-IR and archives."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tle_raw.linker.link_modules import LinkedModule, link
    from tle_raw.linker.report import LinkedSymbol, LinkSummary

__all__ = ["LinkSummary", "LinkedModule", "LinkedSymbol", "link"]

_PLACES = {"link": "link_modules", "LinkedModule": "link_modules", "LinkSummary": "report", "LinkedSymbol": "report"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # most who import the linker's rooms link nothing

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
