"""Run as a program: one call of NVRTC or nvJitLink, whose crash harms nobody. JSON in, JSON out."""

import base64
import ctypes
import json
import sys
from typing import Any

_LTO_IR = 3  # NVJITLINK_INPUT_LTOIR


def main() -> None:
    asked = json.load(sys.stdin)
    library = ctypes.CDLL(asked["library"])
    data, log = compiled(library, asked) if "source" in asked else linked(library, asked)
    json.dump({"data": base64.b64encode(data).decode(), "log": log}, sys.stdout)


def compiled(nvrtc: Any, asked: dict[str, Any]) -> tuple[bytes, str]:
    program = ctypes.c_void_p()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), asked["source"].encode(), b"fragment.cu", 0, None, None))
    failed = nvrtc.nvrtcCompileProgram(program, len(asked["options"]), texts(asked["options"]))
    log = read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).decode("utf-8", "replace").rstrip("\0")
    if failed:
        return b"", log or f"NVRTC failed with {failed}"
    if asked["lto"]:
        return read(nvrtc.nvrtcGetLTOIRSize, nvrtc.nvrtcGetLTOIR, program), log
    return read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).rstrip(b"\0"), log


def linked(link: Any, asked: dict[str, Any]) -> tuple[bytes, str]:
    link = Versioned(link)
    handle = ctypes.c_void_p()
    check(link.nvJitLinkCreate(ctypes.byref(handle), len(asked["options"]), texts(asked["options"])))
    failed = 0
    for index, module in enumerate(map(base64.b64decode, asked["modules"])):
        size = ctypes.c_size_t(len(module))
        failed = failed or link.nvJitLinkAddData(handle, _LTO_IR, module, size, f"module{index}".encode())
    failed = failed or link.nvJitLinkComplete(handle)
    log = read(link.nvJitLinkGetErrorLogSize, link.nvJitLinkGetErrorLog, handle).decode("utf-8", "replace").rstrip("\0")
    if failed:
        return b"", log or f"nvJitLink failed with {failed}"
    return read(link.nvJitLinkGetLinkedPtxSize, link.nvJitLinkGetLinkedPtx, handle).rstrip(b"\0"), log


class Versioned:
    """The library's functions: some releases have them under a name with a version only."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        for major, minor in ((0, 0), *((m, n) for m in (13, 12) for n in range(10))):
            found = getattr(self._library, f"__{name}_{major}_{minor}" if major else name, None)
            if found is not None:
                return found
        raise AttributeError(name)


def texts(options: list[str]) -> Any:
    return (ctypes.c_char_p * len(options))(*(option.encode() for option in options))


def read(size_of: Any, get: Any, handle: Any) -> bytes:
    size = ctypes.c_size_t()
    check(size_of(handle, ctypes.byref(size)))
    data = ctypes.create_string_buffer(max(size.value, 1))
    check(get(handle, data))
    return data.raw[: size.value]


def check(code: int) -> None:
    if code:
        raise SystemExit(f"the library failed with {code}")


if __name__ == "__main__":
    main()
