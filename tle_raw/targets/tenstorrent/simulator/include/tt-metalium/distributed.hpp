// A mesh of one device: its buffers, its queue, and workloads.
#pragma once
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <tt-metalium/buffer.hpp>
#include <tt-metalium/program.hpp>

#include "simulator/site.h"

namespace tt::tt_metal::distributed {
class MeshDevice;

void at_host(tt_sim::Site site);  // the call that errors are told of

class MeshShape {
public:
    MeshShape(uint32_t rows, uint32_t columns) : dims{rows, columns} {}
    uint32_t operator[](size_t axis) const { return dims[axis]; }
    size_t mesh_size() const { return size_t{dims[0]} * dims[1]; }

private:
    uint32_t dims[2];
};

class MeshCoordinate {
public:
    MeshCoordinate(uint32_t row, uint32_t column) : at{row, column} {}
    uint32_t operator[](size_t axis) const { return at[axis]; }

private:
    uint32_t at[2];
};

class MeshCoordinateRange {
public:
    explicit MeshCoordinateRange(const MeshShape&) {}
    MeshCoordinateRange(const MeshCoordinate&, const MeshCoordinate&) {}
};

class MeshCommandQueue {};

class MeshDevice {
public:
    static std::shared_ptr<MeshDevice> create_unit_mesh(int device_id);
    MeshCommandQueue& mesh_command_queue(std::optional<uint8_t> = std::nullopt) { return queue; }
    MeshShape shape() const { return {1, 1}; }
    CoreCoord compute_with_storage_grid_size() const;
    CoreCoord worker_core_from_logical_core(const CoreCoord& logical) const;
    uint32_t num_dram_channels() const;
    bool close() { return true; }

private:
    MeshCommandQueue queue;
};

struct DeviceLocalBufferConfig {
    uint32_t page_size = 0;
    BufferType buffer_type = BufferType::DRAM;
    BufferShardingArgs sharding_args = {};
    std::optional<bool> bottom_up = std::nullopt;
};
struct ReplicatedBufferConfig {
    uint64_t size = 0;
};
using MeshBufferConfig = std::variant<ReplicatedBufferConfig>;

class MeshBuffer {
public:
    static std::shared_ptr<MeshBuffer> create(const MeshBufferConfig& mesh, const DeviceLocalBufferConfig& local,
                                              MeshDevice* device, std::optional<uint64_t> = std::nullopt, TT_SIM_SITE) {
        at_host(site);
        return std::shared_ptr<MeshBuffer>(new MeshBuffer(std::get<ReplicatedBufferConfig>(mesh).size, local, device));
    }
    uint32_t address() const { return one.address(); }
    uint64_t size() const { return one.size(); }
    uint32_t page_size() const { return one.page_size(); }
    uint32_t num_pages() const { return one.num_pages(); }
    Buffer* get_reference_buffer() { return &one; }
    Buffer* get_backing_buffer() { return &one; }
    const Buffer& buffer() const { return one; }

private:
    MeshBuffer(uint64_t bytes, const DeviceLocalBufferConfig& local, MeshDevice*)
        : one(bytes, local.page_size, local.buffer_type, local.sharding_args) {}
    Buffer one;
};

class MeshWorkload {
public:
    void add_program(const MeshCoordinateRange&, Program&& program) { programs.push_back(std::move(program)); }
    std::vector<Program>& get_programs() { return programs; }

private:
    std::vector<Program> programs;
};

void write_bytes(const Buffer& buffer, const void* from, size_t bytes);
void read_bytes(const Buffer& buffer, void* to, size_t bytes);

template <typename Value>
void EnqueueWriteMeshBuffer(MeshCommandQueue&, const std::shared_ptr<MeshBuffer>& buffer, std::vector<Value>& from,
                            bool = false, TT_SIM_SITE) {
    at_host(site);
    write_bytes(buffer->buffer(), from.data(), from.size() * sizeof(Value));
}
template <typename Value>
void EnqueueReadMeshBuffer(MeshCommandQueue&, std::vector<Value>& to, const std::shared_ptr<MeshBuffer>& buffer,
                           bool = true, TT_SIM_SITE) {
    at_host(site);
    to.resize(buffer->size() / sizeof(Value));
    read_bytes(buffer->buffer(), to.data(), buffer->size());
}
template <typename Value>
void WriteShard(MeshCommandQueue& queue, const std::shared_ptr<MeshBuffer>& buffer, std::vector<Value>& from,
                const MeshCoordinate&, bool blocking = false, TT_SIM_SITE) {
    EnqueueWriteMeshBuffer(queue, buffer, from, blocking, site);
}
template <typename Value>
void ReadShard(MeshCommandQueue& queue, std::vector<Value>& to, const std::shared_ptr<MeshBuffer>& buffer,
               const MeshCoordinate&, bool blocking = true, TT_SIM_SITE) {
    EnqueueReadMeshBuffer(queue, to, buffer, blocking, site);
}
void EnqueueMeshWorkload(MeshCommandQueue& queue, MeshWorkload& workload, bool blocking, TT_SIM_SITE);
inline void Finish(MeshCommandQueue&) {}
}  // namespace tt::tt_metal::distributed
