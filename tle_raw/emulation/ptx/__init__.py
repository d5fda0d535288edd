"""Inline PTX for the host: an asm string becomes a function in LLVM IR, instruction by instruction.

``parse`` reads the text, ``function`` keeps registers and operands, and the other files hold the instructions by
subject. An instruction that is in none of them is an error that names it: nothing is guessed.
"""

from tle_raw.emulation.ptx.translate import UnknownInstruction, translate

__all__ = ["UnknownInstruction", "translate"]
