// Size, formats and pages of circular buffers.
#pragma once
#include <cstdint>
#include <map>

#include <tt-metalium/tt_backend_api_types.hpp>

namespace tt::tt_metal {
class Buffer;

class CircularBufferConfig {
public:
    CircularBufferConfig(uint32_t bytes, const std::map<uint8_t, DataFormat>& data_formats)
        : total(bytes), formats(data_formats) {}
    CircularBufferConfig& set_page_size(uint8_t index, uint32_t bytes) {
        pages[index] = bytes;
        return *this;
    }
    // The pages lie in this buffer of the host's, in L1.
    CircularBufferConfig& set_globally_allocated_address(const Buffer& buffer) {
        lent = &buffer;
        return *this;
    }
    uint32_t total_size() const { return total; }
    const std::map<uint8_t, DataFormat>& data_formats() const { return formats; }
    const std::map<uint8_t, uint32_t>& page_sizes() const { return pages; }
    const Buffer* globally_allocated() const { return lent; }

private:
    uint32_t total;
    std::map<uint8_t, DataFormat> formats;
    std::map<uint8_t, uint32_t> pages;
    const Buffer* lent = nullptr;
};
}  // namespace tt::tt_metal
