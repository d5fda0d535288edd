#include "numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "failure.hpp"

namespace tt_sim {
using tt::DataFormat;

namespace {
// Block floats: 16 elements of a face's row share an exponent; the exponents of all 64 rows come first.
int block_bits(DataFormat format) {
    switch (format) {
        case DataFormat::Bfp8:
        case DataFormat::Bfp8_b: return 8;
        case DataFormat::Bfp4:
        case DataFormat::Bfp4_b: return 4;
        case DataFormat::Bfp2:
        case DataFormat::Bfp2_b: return 2;
        default: return 0;
    }
}

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// Those without _b have exponents of 5 bits, as fp16.
struct SharedExponents {
    int bias, most;
    explicit SharedExponents(DataFormat format) {
        const bool wide = format == DataFormat::Bfp8_b || format == DataFormat::Bfp4_b || format == DataFormat::Bfp2_b;
        bias = wide ? 127 : 15;
        most = wide ? 255 : 31;
    }
    uint8_t stored(int exponent) const { return static_cast<uint8_t>(std::clamp(exponent + bias, 0, most)); }
    int read(uint8_t stored) const { return int{stored} - bias; }
};

// The largest exponent of a row.
int shared_exponent(const float* row) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < face_side; ++i) largest = std::max(largest, bits_of(row[i]) >> 23 & 255);
    return static_cast<int>(largest) - 127;
}

uint32_t block_element(float value, int exponent, int bits) {
    // Sign, then the significand with its leading one, shifted to the shared exponent.
    const int magnitude_bits = bits - 1;
    const double scaled = std::ldexp(std::fabs(double{value}), magnitude_bits - 1 - exponent);
    const auto most = static_cast<uint32_t>((1 << magnitude_bits) - 1);
    const auto magnitude = std::min(most, static_cast<uint32_t>(std::nearbyint(std::isfinite(scaled) ? scaled : most)));
    return (std::signbit(value) && magnitude ? 1u << magnitude_bits : 0u) | magnitude;
}

float block_value(uint32_t element, int exponent, int bits) {
    const int magnitude_bits = bits - 1;
    const double magnitude = element & ((1u << magnitude_bits) - 1);
    const double value = std::ldexp(magnitude, exponent - (magnitude_bits - 1));
    return static_cast<float>(element >> magnitude_bits & 1 ? -value : value);
}

void decode_blocks(DataFormat format, const uint8_t* from, float* faces) {
    const int bits = block_bits(format);
    const SharedExponents exponents(format);
    for (uint32_t row = 0; row < 64; ++row)
        for (uint32_t i = 0; i < face_side; ++i) {
            const uint32_t at = (row * face_side + i) * static_cast<uint32_t>(bits);
            const uint32_t element = from[64 + at / 8] >> at % 8 & ((1u << bits) - 1);
            faces[row * face_side + i] = block_value(element, exponents.read(from[row]), bits);
        }
}

void encode_blocks(DataFormat format, const float* faces, uint8_t* to) {
    const int bits = block_bits(format);
    const SharedExponents exponents(format);
    std::memset(to, 0, 64 + 128 * static_cast<size_t>(bits));
    for (uint32_t row = 0; row < 64; ++row) {
        to[row] = exponents.stored(shared_exponent(faces + row * face_side));
        const int exponent = exponents.read(to[row]);
        for (uint32_t i = 0; i < face_side; ++i) {
            const uint32_t at = (row * face_side + i) * static_cast<uint32_t>(bits);
            to[64 + at / 8] |=
                static_cast<uint8_t>(block_element(faces[row * face_side + i], exponent, bits) << at % 8);
        }
    }
}
}  // namespace

uint32_t element_bytes(DataFormat format) {
    switch (format) {
        case DataFormat::Float32:
        case DataFormat::Int32:
        case DataFormat::UInt32: return 4;
        case DataFormat::Float16:
        case DataFormat::Float16_b:
        case DataFormat::UInt16: return 2;
        case DataFormat::UInt8:
        case DataFormat::Int8: return 1;
        default: return 0;
    }
}

uint32_t tile_bytes(DataFormat format) {
    const int bits = block_bits(format);
    return bits ? 64 + 128 * static_cast<uint32_t>(bits) : tile_elements * element_bytes(format);
}

const char* name_of(DataFormat format) {
    switch (format) {
        case DataFormat::Float32: return "Float32";
        case DataFormat::Float16: return "Float16";
        case DataFormat::Float16_b: return "Float16_b";
        case DataFormat::Bfp8: return "Bfp8";
        case DataFormat::Bfp8_b: return "Bfp8_b";
        case DataFormat::Bfp4: return "Bfp4";
        case DataFormat::Bfp4_b: return "Bfp4_b";
        case DataFormat::Bfp2: return "Bfp2";
        case DataFormat::Bfp2_b: return "Bfp2_b";
        case DataFormat::Int32: return "Int32";
        case DataFormat::UInt32: return "UInt32";
        case DataFormat::UInt16: return "UInt16";
        case DataFormat::Int8: return "Int8";
        case DataFormat::UInt8: return "UInt8";
        case DataFormat::Tf32: return "Tf32";
        case DataFormat::Invalid: break;
    }
    return "no format";
}

bool is_integer(DataFormat format) {
    return format == DataFormat::Int32 || format == DataFormat::UInt32 || format == DataFormat::UInt16 ||
           format == DataFormat::Int8 || format == DataFormat::UInt8;
}

float round_to_bf16(float value) {
    const uint32_t bits = bits_of(value);
    if (std::isnan(value)) return std::bit_cast<float>(bits | 0x00400000u);
    return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u);
}

float round_to_fp16(float value) { return static_cast<float>(static_cast<_Float16>(value)); }

float keep_bits(float value, int mantissa_bits) {
    return std::isfinite(value) ? std::bit_cast<float>(bits_of(value) & ~((1u << (23 - mantissa_bits)) - 1)) : value;
}

float round_to_tf32(float value) {
    if (!std::isfinite(value)) return value;
    const uint32_t bits = bits_of(value);
    return std::bit_cast<float>((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu);
}

float decode_element(DataFormat format, const uint8_t* from) {
    switch (format) {
        case DataFormat::Float32:
        case DataFormat::Int32:
        case DataFormat::UInt32: {
            float value;
            std::memcpy(&value, from, 4);
            return value;
        }
        case DataFormat::Float16: {
            _Float16 value;
            std::memcpy(&value, from, 2);
            return static_cast<float>(value);
        }
        case DataFormat::Float16_b: {
            uint16_t bits;
            std::memcpy(&bits, from, 2);
            return std::bit_cast<float>(uint32_t{bits} << 16);
        }
        case DataFormat::UInt16: {
            uint16_t bits;
            std::memcpy(&bits, from, 2);
            return std::bit_cast<float>(uint32_t{bits});
        }
        case DataFormat::UInt8: return std::bit_cast<float>(uint32_t{*from});
        case DataFormat::Int8: return std::bit_cast<float>(static_cast<uint32_t>(int32_t{static_cast<int8_t>(*from)}));
        default: return 0;
    }
}

void encode_element(DataFormat format, float value, uint8_t* to) {
    const uint32_t bits = bits_of(value);
    switch (format) {
        case DataFormat::Float32:
        case DataFormat::Int32:
        case DataFormat::UInt32: std::memcpy(to, &bits, 4); break;
        case DataFormat::Float16: {
            const auto half = static_cast<_Float16>(value);
            std::memcpy(to, &half, 2);
            break;
        }
        case DataFormat::Float16_b: {
            const auto high = static_cast<uint16_t>(bits_of(round_to_bf16(value)) >> 16);
            std::memcpy(to, &high, 2);
            break;
        }
        case DataFormat::UInt16: std::memcpy(to, &bits, 2); break;
        case DataFormat::UInt8:
        case DataFormat::Int8: std::memcpy(to, &bits, 1); break;
        default: break;
    }
}

namespace {
template <typename Visit>
void each_element(Visit visit) {
    for (uint32_t row = 0; row < side; ++row)
        for (uint32_t column = 0; column < side; ++column) visit(row * side + column, in_faces(row, column));
}
}  // namespace

void decode_tile(DataFormat format, const uint8_t* from, Tile& out) {
    if (block_bits(format)) {
        Tile faces;
        decode_blocks(format, from, faces.data());
        each_element([&](uint32_t at, uint32_t face) { out[at] = faces[face]; });
        return;
    }
    const uint32_t bytes = element_bytes(format);
    each_element([&](uint32_t at, uint32_t face) { out[at] = decode_element(format, from + face * bytes); });
}

void encode_tile(DataFormat format, const Tile& values, uint8_t* to) {
    if (block_bits(format)) {
        Tile faces;
        each_element([&](uint32_t at, uint32_t face) { faces[face] = values[at]; });
        encode_blocks(format, faces.data(), to);
        return;
    }
    const uint32_t bytes = element_bytes(format);
    each_element([&](uint32_t at, uint32_t face) { encode_element(format, values[at], to + face * bytes); });
}
}  // namespace tt_sim
