// One tile of bf16 from DRAM to four cores by multicast, each of which keeps it in its shard. usage: main IN.bin
// OUT.bin
#include <cstdio>
#include <vector>

#include <tt-metalium/host_api.hpp>
#include <tt-metalium/tensor_accessor_args.hpp>

using namespace tt;
using namespace tt::tt_metal;

int main(int argc, char** argv) {
    if (argc != 3) return 1;
    constexpr uint32_t bytes = 2048, receivers = 3;
    auto device = distributed::MeshDevice::create_unit_mesh(0);
    const CoreRange all(CoreCoord(0, 0), CoreCoord(receivers, 0)), receiving(CoreCoord(1, 0), CoreCoord(receivers, 0));
    auto input = distributed::MeshBuffer::create(distributed::ReplicatedBufferConfig{.size = bytes},
                                                 {.page_size = bytes, .buffer_type = BufferType::DRAM}, device.get());
    const ShardSpecBuffer shards(CoreRangeSet(all), {32, 32}, ShardOrientation::ROW_MAJOR, {32, 32},
                                 {receivers + 1, 1});
    auto output = distributed::MeshBuffer::create(
        distributed::ReplicatedBufferConfig{.size = bytes * (receivers + 1)},
        {.page_size = bytes,
         .buffer_type = BufferType::L1,
         .sharding_args = BufferShardingArgs(shards, TensorMemoryLayout::HEIGHT_SHARDED)},
        device.get());

    Program program = CreateProgram();
    CreateCircularBuffer(
        program, all,
        CircularBufferConfig(bytes, {{CBIndex::c_0, DataFormat::Float16_b}}).set_page_size(CBIndex::c_0, bytes));
    CreateSemaphore(program, all, 0);
    CreateSemaphore(program, all, 0);
    std::vector<uint32_t> sender_words, receiver_words;
    TensorAccessorArgs(*input).append_to(sender_words);
    TensorAccessorArgs(*output).append_to(sender_words);
    TensorAccessorArgs(*output).append_to(receiver_words);
    const KernelHandle sender =
        CreateKernel(program, "sender.cpp", CoreCoord(0, 0), ReaderDataMovementConfig(sender_words));
    const KernelHandle receiver =
        CreateKernel(program, "receiver.cpp", receiving, ReaderDataMovementConfig(receiver_words));
    const CoreCoord first = device->worker_core_from_logical_core(CoreCoord(0, 0));
    const auto x = static_cast<uint32_t>(first.x), y = static_cast<uint32_t>(first.y);
    SetRuntimeArgs(program, sender, CoreCoord(0, 0),
                   {input->address(), receivers, x + 1, x + receivers, y, output->address()});
    for (uint32_t i = 1; i <= receivers; ++i)
        SetRuntimeArgs(program, receiver, CoreCoord(i, 0), {x, y, output->address(), i});

    std::vector<uint8_t> tile(bytes), result;
    std::FILE* file = std::fopen(argv[1], "rb");
    if (!file || std::fread(tile.data(), 1, bytes, file) != bytes) return 1;
    std::fclose(file);
    distributed::EnqueueWriteMeshBuffer(device->mesh_command_queue(), input, tile);
    distributed::MeshWorkload workload;
    workload.add_program(distributed::MeshCoordinateRange(device->shape()), std::move(program));
    distributed::EnqueueMeshWorkload(device->mesh_command_queue(), workload, true);
    distributed::EnqueueReadMeshBuffer(device->mesh_command_queue(), result, output);
    file = std::fopen(argv[2], "wb");
    const bool written = file && std::fwrite(result.data(), 1, result.size(), file) == result.size();
    return written && std::fclose(file) == 0 ? 0 : 1;
}
