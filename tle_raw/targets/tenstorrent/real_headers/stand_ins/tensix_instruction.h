// Included before everything: the directive by which the vendor's assembler writes a Tensix instruction among those of
// RISC-V. It stands in memory rotated left by two bits, so that its lowest two are never 11, as all of RISC-V's are.
#pragma once
__asm__(
    ".macro .ttinsn instruction\n"
    "  .word ((\\instruction << 2) & 0xfffffffc) | ((\\instruction >> 30) & 3)\n"
    ".endm\n");
