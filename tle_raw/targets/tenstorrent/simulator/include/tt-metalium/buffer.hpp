// Buffers on the device: interleaved over the banks, or in shards.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tt-metalium/core_coord.hpp>

namespace tt_sim {
struct DeviceBuffer;
}

namespace tt::tt_metal {
enum class BufferType { DRAM, L1, SYSTEM_MEMORY, L1_SMALL, TRACE };
enum class TensorMemoryLayout { INTERLEAVED, HEIGHT_SHARDED, WIDTH_SHARDED, BLOCK_SHARDED };
enum class ShardOrientation { ROW_MAJOR, COL_MAJOR };

// Which cores hold shards, and how many elements a shard has.
struct ShardSpec {
    CoreRangeSet grid;
    std::array<uint32_t, 2> shape;
    ShardOrientation orientation = ShardOrientation::ROW_MAJOR;
    ShardSpec(const CoreRangeSet& cores, const std::array<uint32_t, 2>& elements,
              const ShardOrientation& order = ShardOrientation::ROW_MAJOR)
        : grid(cores), shape(elements), orientation(order) {}
};

// The same, with the shape of a page in elements and the shape of the tensor in pages.
struct ShardSpecBuffer {
    ShardSpec tensor_shard_spec;
    std::array<uint32_t, 2> page_shape, tensor2d_shape_in_pages;
    ShardSpecBuffer(const CoreRangeSet& cores, const std::array<uint32_t, 2>& shard, const ShardOrientation& order,
                    const std::array<uint32_t, 2>& page, const std::array<uint32_t, 2>& tensor)
        : tensor_shard_spec(cores, shard, order), page_shape(page), tensor2d_shape_in_pages(tensor) {}
};

struct BufferShardingArgs {
    std::optional<ShardSpecBuffer> spec;
    TensorMemoryLayout layout = TensorMemoryLayout::INTERLEAVED;
    BufferShardingArgs() = default;
    BufferShardingArgs(std::optional<ShardSpecBuffer> shards, TensorMemoryLayout how)
        : spec(std::move(shards)), layout(how) {}
};

class Buffer {
public:
    Buffer(uint64_t bytes, uint32_t page_bytes, BufferType type, const BufferShardingArgs& sharding);
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    uint32_t address() const;
    uint64_t size() const;
    uint32_t page_size() const;
    uint32_t aligned_page_size() const;
    uint32_t num_pages() const;
    bool is_dram() const;
    const tt_sim::DeviceBuffer& device_buffer() const { return *inside; }

private:
    std::unique_ptr<tt_sim::DeviceBuffer> inside;
};
}  // namespace tt::tt_metal
