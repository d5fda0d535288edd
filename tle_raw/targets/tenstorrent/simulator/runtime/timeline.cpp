// The cycle estimate: a line of JSON for each launch (TT_SIM_REPORT=FILE) and a picture of the last one
// (TT_SIM_TIMELINE=FILE).
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "failure.hpp"
#include "program.hpp"

namespace tt_sim {
namespace {
constexpr size_t drawn_cores = 8;

std::vector<const Lane*> lanes_of(const Core& core) {
    std::vector<const Lane*> lanes;
    auto add = [&](Processor processor) {
        for (const auto& role : core.roles) {
            if (role->processor != processor) continue;
            if (role->compute)
                lanes.insert(lanes.end(), {&role->compute->unpack, &role->compute->math, &role->compute->pack});
            else
                lanes.push_back(&role->lane);
        }
    };
    for (Processor processor : {Processor::reader, Processor::compute, Processor::writer}) add(processor);
    return lanes;
}

struct Estimate {
    double cycles = 0, compute = 0, noc = 0, dram = 0, dram_bytes = 0;
    // Latency where the cores mostly wait for what is on its way.
    const char* bound() const {
        if (cycles > 2 * std::max({compute, noc, dram})) return "latency";
        return compute >= noc && compute >= dram ? "compute" : dram >= noc ? "DRAM" : "NoC";
    }
};

Estimate estimate(const Core& core) {
    Estimate of;
    for (const auto& role : core.roles) {
        of.dram_bytes += role->dram_bytes;
        if (role->compute)
            of.compute = std::max({role->compute->unpack.busy, role->compute->math.busy, role->compute->pack.busy});
        else  // each data movement kernel has a network of its own
            of.noc = std::max({of.noc, role->lane.busy, (role->noc_bytes + role->dram_bytes) / noc_bytes_per_cycle});
    }
    for (const Lane* lane : lanes_of(core)) of.cycles = std::max(of.cycles, lane->clock);
    of.dram = of.dram_bytes / core.dram_bytes_per_cycle;
    return of;
}

void write_line(std::ostream& out, const std::vector<std::unique_ptr<Core>>& cores) {
    double longest = 0, bytes = 0;
    std::string list;
    for (const auto& core : cores) {
        const Estimate of = estimate(*core);
        longest = std::max(longest, of.cycles);
        bytes += of.dram_bytes;
        std::string waits;
        for (const Lane* lane : lanes_of(*core))
            waits += text("%s\"%s\": %.0f", waits.empty() ? "" : ", ", lane->name, lane->waited);
        list += text(
            "%s{\"x\": %u, \"y\": %u, \"cycles\": %.0f, \"bound\": \"%s\", \"compute\": %.0f, \"noc\": %.0f, \"dram\": "
            "%.0f, \"waits\": {%s}}",
            list.empty() ? "" : ", ", core->x, core->y, of.cycles, of.bound(), of.compute, of.noc, of.dram,
            waits.c_str());
    }
    out << text("{\"chip\": \"%s\", \"cycles\": %.0f, \"dram_bytes\": %.0f, \"cores\": [", chip().name, longest, bytes)
        << list << "]}\n";
}

void draw(std::ostream& out, const std::vector<std::unique_ptr<Core>>& cores) {
    constexpr double left = 150, width = 1000, lane_height = 16, gap = 14, top = 64;
    static const char* const colours[] = {"#2a78b8", "#e08a1e", "#f6d7ae", "#d9dde2"};
    static const char* const meanings[] = {"works", "begins copies", "waits for its copies", "waits for pages"};
    const size_t count = std::min(cores.size(), drawn_cores);
    double longest = 1, height = top;
    for (size_t i = 0; i < count; ++i) {
        longest = std::max(longest, estimate(*cores[i]).cycles);
        height += static_cast<double>(lanes_of(*cores[i]).size()) * lane_height + gap;
    }
    out << text(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
        "font-size=\"11\">\n",
        left + width + 40, height + 10);
    out << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    out << text("<text x=\"10\" y=\"18\" font-size=\"13\">%s: estimated cycles of %zu of %zu cores</text>\n",
                chip().name, count, cores.size());
    for (int kind = 0; kind < 4; ++kind)
        out << text(
            "<rect x=\"%d\" y=\"26\" width=\"12\" height=\"10\" fill=\"%s\"/><text x=\"%d\" y=\"35\">%s</text>\n",
            10 + kind * 150, colours[kind], 26 + kind * 150, meanings[kind]);
    for (int tick = 0; tick <= 10; ++tick) {
        const double x = left + width * tick / 10;
        out << text(
            "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#eeeeee\"/><text x=\"%.1f\" y=\"%.0f\" "
            "text-anchor=\"middle\">%.0f</text>\n",
            x, top - 6, x, height, x, top - 10, longest * tick / 10);
    }
    double y = top;
    for (size_t i = 0; i < count; ++i) {
        const Estimate of = estimate(*cores[i]);
        out << text(
            "<text x=\"10\" y=\"%.0f\" font-weight=\"bold\">(%u,%u)</text><text x=\"10\" y=\"%.0f\" "
            "font-size=\"10\">%.0f cycles</text><text x=\"10\" y=\"%.0f\" font-size=\"10\">bound: %s</text>\n",
            y + 12, cores[i]->x, cores[i]->y, y + 26, of.cycles, y + 39, of.bound());
        for (const Lane* lane : lanes_of(*cores[i])) {
            out << text("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", left - 8, y + 12, lane->name);
            for (const Interval& interval : lane->intervals)
                out << text("<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"%s\"/>\n",
                            left + width * interval.start / longest, y + 2,
                            std::max(0.3, width * (interval.end - interval.start) / longest), lane_height - 4,
                            colours[interval.kind]);
            y += lane_height;
        }
        y += gap;
    }
    out << "</svg>\n";
}

std::ofstream opened(const char* variable, std::ios::openmode mode) {
    const char* path = std::getenv(variable);
    std::ofstream file;
    if (!path || !*path) return file;
    file.open(path, mode);
    if (!file) fail_host(text("%s: %s cannot be written", variable, path));
    return file;
}
}  // namespace

void write_reports(const std::vector<std::unique_ptr<Core>>& cores) {
    if (std::ofstream report = opened("TT_SIM_REPORT", std::ios::app); report.is_open()) write_line(report, cores);
    if (std::ofstream picture = opened("TT_SIM_TIMELINE", std::ios::trunc); picture.is_open()) draw(picture, cores);
}
}  // namespace tt_sim
