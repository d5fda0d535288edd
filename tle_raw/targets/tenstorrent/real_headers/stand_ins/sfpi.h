// Instead of the vendor's sfpi.h, which comes with the SFPI compiler: the one constant that code of the matrix engine
// wants. Code of the vector engine (SFPU) does not compile with it.
#pragma once
#include <cstdint>

namespace sfpi {
constexpr std::uint32_t SFPLOADI_MOD0_FLOATB = 0;
}
