"""The parts of ``main.cpp`` that are the same for every kernel: files, tiles, block floats."""

from __future__ import annotations

from collections.abc import Iterable

ARRAYS = """\
// An array: matrices of rows and columns, cut into tiles of 32 x 32; elements are counted, not bytes.
struct Array {
    std::vector<size_t> counts, strides;  // of the dimensions that count matrices, outermost first
    size_t rows, columns, row_stride, column_stride;
    size_t tile_rows, tile_columns;

    size_t matrices() const {
        size_t product = 1;
        for (const size_t count : counts) {
            product *= count;
        }
        return product;
    }
    size_t elements() const { return matrices() * rows * columns; }
    size_t pages() const { return matrices() * tile_rows * tile_columns; }
};

// Calls `visit` for each element with its place in the array of the host and its place in the pages of the device.
template <typename Visit>
void for_each_element(const Array& array, Visit visit) {
    for (size_t matrix = 0; matrix < array.matrices(); ++matrix) {
        size_t start = 0;
        for (size_t dimension = array.counts.size(), rest = matrix; dimension-- > 0; rest /= array.counts[dimension]) {
            start += rest % array.counts[dimension] * array.strides[dimension];
        }
        for (size_t r = 0; r < array.rows; ++r) {
            for (size_t c = 0; c < array.columns; ++c) {
                const size_t page = (matrix * array.tile_rows + r / 32) * array.tile_columns + c / 32;
                const size_t face = r % 32 / 16 * 2 + c % 32 / 16;
                const size_t tiled = page * 1024 + face * 256 + r % 16 * 16 + c % 16;
                visit(start + r * array.row_stride + c * array.column_stride, tiled);
            }
        }
    }
}

// Pages as the device has them; what is no element of the array is zero.
template <typename Element>
std::vector<Element> tilize(const Array& array, const std::vector<Element>& values) {
    std::vector<Element> pages(array.pages() * 1024);
    for_each_element(array, [&](size_t host, size_t tiled) { pages[tiled] = values[host]; });
    return pages;
}

template <typename Element>
std::vector<Element> untilize(const Array& array, const std::vector<Element>& pages) {
    std::vector<Element> values(array.elements());
    for_each_element(array, [&](size_t host, size_t tiled) { values[host] = pages[tiled]; });
    return values;
}
"""

FILES = """\
template <typename Element>
std::vector<Element> read_file(const std::string& path, const char* name, size_t elements) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) {
        throw std::runtime_error(path + ": cannot be read");
    }
    const auto bytes = static_cast<size_t>(file.tellg());
    if (bytes != elements * sizeof(Element)) {
        throw std::runtime_error(path + ": " + name + " has " + std::to_string(elements * sizeof(Element)) +
                                 " bytes, the file " + std::to_string(bytes));
    }
    std::vector<Element> values(elements);
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(bytes));
    return values;
}

template <typename Element>
void write_file(const std::string& path, const std::vector<Element>& values) {
    std::ofstream file(path, std::ios::binary);
    const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(Element));
    file.write(reinterpret_cast<const char*>(values.data()), bytes);
    if (!file.flush()) {
        throw std::runtime_error(path + ": cannot be written");
    }
}
"""

UPLOAD = """\
template <typename Page>
void upload(MeshDevice& device, const std::shared_ptr<MeshBuffer>& buffer, std::vector<Page> pages) {
    distributed::EnqueueWriteMeshBuffer(device.mesh_command_queue(), buffer, pages, true);
}
"""

DOWNLOAD = """\
template <typename Page>
std::vector<Page> download(MeshDevice& device, const std::shared_ptr<MeshBuffer>& buffer) {
    std::vector<Page> pages;
    distributed::EnqueueReadMeshBuffer(device.mesh_command_queue(), pages, buffer, true);
    return pages;
}
"""

# From the bits of an element to a float.
TO_FLOAT = {
    "float32": """\
float to_float(uint32_t bits) { return std::bit_cast<float>(bits); }
""",
    "bfloat16": """\
float to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
""",
    "float16": """\
float to_float(uint16_t bits) {
    const uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = fraction ? NAN : INFINITY;
    if (exponent != 31) {
        const uint32_t significand = exponent ? fraction + 1024 : fraction;
        size = std::ldexp(static_cast<float>(significand), std::max(static_cast<int>(exponent), 1) - 25);
    }
    return bits & 0x8000 ? -size : size;
}
""",
}

# From a float to the bits of the nearest element.
FROM_FLOAT = {
    "float32": """\
void from_float(float value, uint32_t& bits) { bits = std::bit_cast<uint32_t>(value); }
""",
    "bfloat16": """\
void from_float(float value, uint16_t& bits) {
    const auto word = std::bit_cast<uint32_t>(value);
    bits = static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}
""",
    "float16": """\
void from_float(float value, uint16_t& bits) {
    const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    const float size = std::fabs(value);
    uint32_t magnitude = 0x7E00;  // not a number
    if (size >= 65520.0f) {
        magnitude = 0x7C00;
    } else if (size < 0x1p-14f) {
        magnitude = static_cast<uint32_t>(std::nearbyint(size * 0x1p24f));
    } else if (size == size) {
        const int exponent = std::ilogb(size);
        const float fraction = std::nearbyint(std::ldexp(size, 10 - exponent));  // 1024 ... 2048
        magnitude = static_cast<uint32_t>((exponent + 14) * 1024 + static_cast<int>(fraction));
    }
    bits = static_cast<uint16_t>(sign | magnitude);
}
""",
}

BLOCK_FLOATS = """\
// Block floats: 16 elements of a row of a face share the exponent of the largest; a page has 64 exponents, then the
// elements, each a sign and Bits - 1 bits of which the first is left of the point.
template <int Bits>
constexpr size_t block_float_page() {
    return 64 + 1024 * Bits / 8;
}

template <int Bits>
uint32_t block_float(float value, int shared) {
    const auto word = std::bit_cast<uint32_t>(value);
    const int exponent = static_cast<int>(word >> 23 & 255), shift = shared - exponent + 24 - (Bits - 1);
    if (exponent == 0 || shift > 24) {
        return 0;
    }
    const uint32_t significand = (word & 0x7FFFFF) | 0x800000, most = (1u << (Bits - 1)) - 1;
    const uint32_t half = 1u << (shift - 1), odd = significand >> shift & 1;
    const uint32_t rounded = std::min((significand + half - 1 + odd) >> shift, most);
    return rounded ? (word >> 31 << (Bits - 1)) | rounded : 0;
}

template <int Bits, typename Element>
std::vector<uint8_t> to_block_floats(const std::vector<Element>& tiled) {
    std::vector<uint8_t> pages(tiled.size() / 1024 * block_float_page<Bits>());
    for (size_t row = 0; row < tiled.size() / 16; ++row) {
        uint8_t* const page = &pages[row / 64 * block_float_page<Bits>()];
        int shared = 0;
        for (size_t i = 0; i < 16; ++i) {
            const auto word = std::bit_cast<uint32_t>(to_float(tiled[row * 16 + i]));
            shared = std::max(shared, static_cast<int>(word >> 23 & 255));
        }
        page[row % 64] = static_cast<uint8_t>(shared);
        for (size_t i = 0; i < 16; ++i) {
            const size_t bit = (row % 64 * 16 + i) * Bits;
            const uint32_t element = block_float<Bits>(to_float(tiled[row * 16 + i]), shared);
            page[64 + bit / 8] = static_cast<uint8_t>(page[64 + bit / 8] | element << bit % 8);
        }
    }
    return pages;
}

template <int Bits, typename Element>
std::vector<Element> from_block_floats(const std::vector<uint8_t>& pages) {
    std::vector<Element> tiled(pages.size() / block_float_page<Bits>() * 1024);
    for (size_t place = 0; place < tiled.size(); ++place) {
        const uint8_t* const page = &pages[place / 1024 * block_float_page<Bits>()];
        const size_t bit = place % 1024 * Bits;
        const uint32_t element = static_cast<uint32_t>(page[64 + bit / 8]) >> bit % 8 & ((1u << Bits) - 1);
        const auto size = static_cast<float>(element & ((1u << (Bits - 1)) - 1));
        const float value = std::ldexp(size, page[place % 1024 / 16] - 127 - (Bits - 2));
        from_float(element >> (Bits - 1) ? -value : value, tiled[place]);
    }
    return tiled;
}
"""

_HEADERS = {
    "std::bit_cast": "bit",
    "std::ldexp": "cmath",
    "std::max": "algorithm",
    "std::ifstream": "fstream",
    "std::ofstream": "fstream",
}
_ALWAYS = ("cstddef", "cstdint", "exception", "filesystem", "iostream", "memory", "stdexcept", "string", "vector")


def headers(text: str) -> Iterable[str]:
    """The standard headers of a host program."""
    return sorted({*_ALWAYS, *(header for word, header in _HEADERS.items() if word in text)})
