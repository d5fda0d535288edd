"""Run as a program: bitcode on standard input, LLVM IR text on standard output. A broken file may end the process."""

import sys


def main() -> None:
    import llvmlite.binding as llvm

    module = llvm.parse_bitcode(sys.stdin.buffer.read())
    sys.stdout.write(str(module))


if __name__ == "__main__":
    main()
