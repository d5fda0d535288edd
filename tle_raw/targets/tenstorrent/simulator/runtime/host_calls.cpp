// The calls of host_api.hpp and distributed.hpp.
#include <algorithm>
#include <cstring>

#include <tt-metalium/host_api.hpp>
#include <tt-metalium/tensor_accessor_args.hpp>

#include "failure.hpp"
#include "numbers.hpp"
#include "program.hpp"

namespace tt::tt_metal {
using namespace tt_sim;

namespace {
std::vector<bool> cores_of(const CoreRangeSet& ranges, const char* call) {
    std::vector<bool> on(memory().cores());
    for (const CoreRange& range : ranges.ranges())
        for (const CoreCoord& core : range) {
            if (core.x >= chip().columns || core.y >= chip().rows)
                fail_host(text("%s: core (%zu,%zu) is outside of the grid of %u x %u", call, core.x, core.y,
                               chip().columns, chip().rows));
            on[core.y * chip().columns + core.x] = true;
        }
    return on;
}

template <typename Spec>
std::vector<bool> cores_of(const Spec& spec, const char* call) {
    return std::visit([&](const auto& cores) { return cores_of(CoreRangeSet(cores), call); }, spec);
}

KernelParts& kernel_of(const Program& program, KernelHandle kernel, const char* call) {
    if (kernel >= program.parts().kernels.size()) fail_host(text("%s: the program has no kernel %u", call, kernel));
    return program.parts().kernels[kernel];
}

std::vector<std::string> macros_of(const std::vector<uint32_t>& words,
                                   const std::map<std::string, std::string>& defines) {
    std::vector<std::string> macros;
    for (const auto& [name, value] : defines) macros.push_back(name + "=" + value);
    std::string list;
    for (uint32_t word : words) list += text("%s%uu", list.empty() ? "" : ",", word);
    if (!words.empty()) macros.push_back("KERNEL_COMPILE_TIME_ARGS=" + list);
    return macros;
}

void configure(KernelParts& kernel, std::vector<std::string>& macros, const DataMovementConfig& config) {
    kernel.processor = config.processor == DataMovementProcessor::RISCV_1 ? Processor::reader : Processor::writer;
    macros.push_back(text("NOC_INDEX=%d", config.noc));
}

void configure(KernelParts& kernel, std::vector<std::string>& macros, const ComputeConfig& config) {
    kernel.processor = Processor::compute;
    kernel.options.fidelity = static_cast<Fidelity>(config.math_fidelity);
    kernel.options.wide = config.fp32_dest_acc_en;
    kernel.options.full_sync = config.dst_full_sync_en;
    kernel.options.approximate = config.math_approx_mode;
    for (size_t id = 0; id < config.unpack_to_dest_mode.size() && id < max_buffers; ++id)
        kernel.options.direct[id] = config.unpack_to_dest_mode[id] == UnpackToDestMode::UnpackToDestFp32;
    macros.push_back(text("DST_ACCUM_MODE=%s", config.fp32_dest_acc_en ? "true" : "false"));
}
}  // namespace

Program::Program() : inside(std::make_unique<ProgramParts>()) {}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

KernelHandle CreateKernel(Program& program, const std::string& file_name, const CoreSpec& core_spec,
                          const std::variant<DataMovementConfig, ComputeConfig>& config, Site site) {
    host_site = site;
    KernelParts kernel;
    kernel.path = file_name;
    kernel.file = file_name.substr(file_name.find_last_of('/') + 1);
    kernel.on = cores_of(core_spec, "CreateKernel");
    std::vector<std::string> macros =
        std::visit([](const auto& of) { return macros_of(of.compile_args, of.defines); }, config);
    std::visit([&](const auto& of) { configure(kernel, macros, of); }, config);
    kernel.compilation = start_compilation(file_name, macros);
    program.parts().kernels.push_back(std::move(kernel));
    return static_cast<KernelHandle>(program.parts().kernels.size() - 1);
}

CBHandle CreateCircularBuffer(Program& program, const CoreSpec& core_spec, const CircularBufferConfig& config,
                              Site site) {
    host_site = site;
    BufferParts buffer;
    buffer.bytes = config.total_size();
    buffer.formats = config.data_formats();
    buffer.page_bytes = config.page_sizes();
    buffer.on = cores_of(core_spec, "CreateCircularBuffer");
    if (config.globally_allocated()) buffer.lent = &config.globally_allocated()->device_buffer();
    for (const auto& [id, format] : buffer.formats) {
        if (id >= max_buffers)
            fail_host(text("CreateCircularBuffer: index %u; a core has circular buffers 0 to 31", id));
        const auto page = buffer.page_bytes.find(id);
        if (page == buffer.page_bytes.end() || page->second == 0)
            fail_host(text("CreateCircularBuffer: set_page_size(%u, ...) is missing", id));
        if (page->second % l1_alignment)
            fail_host(text("CreateCircularBuffer: pages of %u bytes; circular buffer %u needs a multiple of %u",
                           page->second, id, l1_alignment));
        if (buffer.bytes == 0 || buffer.bytes % page->second)
            fail_host(text("CreateCircularBuffer: %u bytes are no whole number of pages of %u (circular buffer %u)",
                           buffer.bytes, page->second, id));
    }
    if (buffer.lent && (buffer.lent->is_dram || buffer.lent->bytes_per_bank() < buffer.bytes))
        fail_host(text("CreateCircularBuffer: the buffer that it lies in has fewer than %u bytes of each core's L1",
                       buffer.bytes));
    program.parts().buffers.push_back(std::move(buffer));
    return static_cast<CBHandle>(program.parts().buffers.size() - 1);
}

uint32_t CreateSemaphore(Program& program, const std::variant<CoreRange, CoreRangeSet>& core_spec,
                         uint32_t initial_value, Site site) {
    host_site = site;
    auto& semaphores = program.parts().semaphores;
    if (semaphores.size() >= max_semaphores) fail_host(text("CreateSemaphore: a core has %u", max_semaphores));
    semaphores.push_back({initial_value, cores_of(core_spec, "CreateSemaphore")});
    return static_cast<uint32_t>(semaphores.size() - 1);
}

void SetRuntimeArgs(const Program& program, KernelHandle handle, const CoreSpec& core_spec,
                    const std::vector<uint32_t>& arguments, Site site) {
    host_site = site;
    KernelParts& kernel = kernel_of(program, handle, "SetRuntimeArgs");
    if (arguments.size() > max_runtime_args)
        fail_host(text("SetRuntimeArgs: %zu arguments for %s; %u are possible", arguments.size(), kernel.file.c_str(),
                       max_runtime_args));
    const std::vector<bool> on = cores_of(core_spec, "SetRuntimeArgs");
    for (uint32_t core = 0; core < on.size(); ++core) {
        if (!on[core]) continue;
        if (!kernel.on[core])
            fail_host(text("SetRuntimeArgs: %s does not run on core (%u,%u)", kernel.file.c_str(),
                           core % chip().columns, core / chip().columns));
        kernel.arguments[core] = arguments;
    }
}
void SetRuntimeArgs(const Program& program, KernelHandle handle, const CoreSpec& core_spec,
                    std::initializer_list<uint32_t> arguments, Site site) {
    SetRuntimeArgs(program, handle, core_spec, std::vector<uint32_t>(arguments), site);
}
void SetCommonRuntimeArgs(const Program& program, KernelHandle handle, const std::vector<uint32_t>& arguments,
                          Site site) {
    host_site = site;
    kernel_of(program, handle, "SetCommonRuntimeArgs").common_arguments = arguments;
}

Buffer::Buffer(uint64_t bytes, uint32_t page_bytes, BufferType type, const BufferShardingArgs& sharding)
    : inside(std::make_unique<DeviceBuffer>()) {
    inside->bytes = bytes;
    inside->page_bytes = page_bytes;
    inside->is_dram = type == BufferType::DRAM;
    if (sharding.layout != TensorMemoryLayout::INTERLEAVED) {
        if (!sharding.spec) fail_host("a sharded buffer without a ShardSpecBuffer");
        const ShardSpecBuffer& spec = *sharding.spec;
        inside->placement = Placement::sharded;
        for (int axis : {0, 1}) {
            if (spec.tensor_shard_spec.shape[axis] % spec.page_shape[axis]) fail_host("a shard must hold whole pages");
            inside->shape.push_back(spec.tensor2d_shape_in_pages[axis]);
            inside->shard.push_back(spec.tensor_shard_spec.shape[axis] / spec.page_shape[axis]);
        }
        for (const CoreRange& range : spec.tensor_shard_spec.grid.ranges())
            for (const CoreCoord& core : range)
                inside->banks.push_back(
                    static_cast<uint32_t>(inside->is_dram ? core.x : core.y * chip().columns + core.x));
        for (uint32_t bank : inside->banks)
            if (bank >= (inside->is_dram ? chip().dram_banks : memory().cores()))
                fail_host("a shard on a core or DRAM bank that is not there");
    }
    memory().allocate(*inside);
}
Buffer::~Buffer() { memory().release(*inside); }
uint32_t Buffer::address() const { return inside->address; }
uint64_t Buffer::size() const { return inside->bytes; }
uint32_t Buffer::page_size() const { return inside->page_bytes; }
uint32_t Buffer::aligned_page_size() const { return inside->aligned_page_bytes; }
uint32_t Buffer::num_pages() const { return inside->pages; }
bool Buffer::is_dram() const { return inside->is_dram; }

TensorAccessorArgs::TensorAccessorArgs(const Buffer& buffer) {
    const DeviceBuffer& of = buffer.device_buffer();
    const bool sharded = of.placement == Placement::sharded;
    words = {(of.is_dram ? 2u : 0u) | (sharded ? 1u : 0u), of.aligned_page_bytes};
    if (!sharded) return;
    words.push_back(static_cast<uint32_t>(of.shape.size()));
    words.push_back(static_cast<uint32_t>(of.banks.size()));
    words.insert(words.end(), of.shape.begin(), of.shape.end());
    words.insert(words.end(), of.shard.begin(), of.shard.end());
    // Two coordinates of 16 bits a word.
    for (size_t at = 0; at < of.banks.size(); at += 2)
        words.push_back(of.banks[at] | (at + 1 < of.banks.size() ? of.banks[at + 1] << 16 : 0u));
}

namespace distributed {
std::shared_ptr<MeshDevice> MeshDevice::create_unit_mesh(int device_id) {
    if (device_id != 0) fail_host(text("device %d; the simulator has device 0", device_id));
    memory();
    return std::make_shared<MeshDevice>();
}
CoreCoord MeshDevice::compute_with_storage_grid_size() const { return {chip().columns, chip().rows}; }
CoreCoord MeshDevice::worker_core_from_logical_core(const CoreCoord& logical) const {
    return {logical.x + first_coordinate, logical.y + first_coordinate};
}
uint32_t MeshDevice::num_dram_channels() const { return chip().dram_banks; }

void write_bytes(const Buffer& buffer, const void* from, size_t bytes) {
    if (bytes != buffer.size())
        fail_host(
            text("a write of %zu bytes into a buffer of %llu", bytes, static_cast<unsigned long long>(buffer.size())));
    for (uint32_t page = 0; page < buffer.num_pages(); ++page)
        std::memcpy(memory().page(buffer.device_buffer(), page),
                    static_cast<const char*>(from) + size_t{page} * buffer.page_size(), buffer.page_size());
}
void read_bytes(const Buffer& buffer, void* to, size_t) {
    for (uint32_t page = 0; page < buffer.num_pages(); ++page)
        std::memcpy(static_cast<char*>(to) + size_t{page} * buffer.page_size(),
                    memory().page(buffer.device_buffer(), page), buffer.page_size());
}
void at_host(Site site) { host_site = site; }

void EnqueueMeshWorkload(MeshCommandQueue&, MeshWorkload& workload, bool, Site site) {
    host_site = site;
    if (workload.get_programs().empty()) fail_host("EnqueueMeshWorkload of a workload without programs");
    for (Program& program : workload.get_programs()) launch(program.parts());
}
}  // namespace distributed
}  // namespace tt::tt_metal
