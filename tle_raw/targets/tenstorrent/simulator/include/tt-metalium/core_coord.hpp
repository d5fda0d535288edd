// Logical cores, rectangles of them, and sets of rectangles.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tt::tt_metal {
struct CoreCoord {
    size_t x = 0, y = 0;
    constexpr CoreCoord() = default;
    constexpr CoreCoord(size_t at_x, size_t at_y) : x(at_x), y(at_y) {}
    auto operator<=>(const CoreCoord&) const = default;
    std::string str() const { return "(x=" + std::to_string(x) + ",y=" + std::to_string(y) + ")"; }
};

// Both corners included.
class CoreRange {
public:
    CoreCoord start_coord, end_coord;
    CoreRange(const CoreCoord& core) : start_coord(core), end_coord(core) {}
    CoreRange(const CoreCoord& start, const CoreCoord& end) : start_coord(start), end_coord(end) {}
    auto operator<=>(const CoreRange&) const = default;
    bool contains(const CoreCoord& core) const {
        return core.x >= start_coord.x && core.x <= end_coord.x && core.y >= start_coord.y && core.y <= end_coord.y;
    }
    CoreCoord grid_size() const { return {end_coord.x - start_coord.x + 1, end_coord.y - start_coord.y + 1}; }
    size_t size() const { return grid_size().x * grid_size().y; }

    class Iterator {
    public:
        Iterator(const CoreCoord& at, const CoreRange& of) : current(at), range(&of) {}
        const CoreCoord& operator*() const { return current; }
        Iterator& operator++() {
            if (++current.x > range->end_coord.x) current = {range->start_coord.x, current.y + 1};
            return *this;
        }
        bool operator==(const Iterator& other) const { return current == other.current; }

    private:
        CoreCoord current;
        const CoreRange* range;
    };
    Iterator begin() const { return {start_coord, *this}; }
    Iterator end() const { return {{start_coord.x, end_coord.y + 1}, *this}; }
};

class CoreRangeSet {
public:
    CoreRangeSet() = default;
    CoreRangeSet(const CoreRange& range) : all{range} {}
    CoreRangeSet(const CoreCoord& core) : all{CoreRange(core)} {}
    CoreRangeSet(const std::vector<CoreRange>& ranges) : all(ranges) {}
    CoreRangeSet(const std::set<CoreRange>& ranges) : all(ranges.begin(), ranges.end()) {}
    const std::vector<CoreRange>& ranges() const { return all; }
    bool empty() const { return all.empty(); }
    size_t size() const { return all.size(); }
    uint32_t num_cores() const {
        uint32_t count = 0;
        for (const CoreRange& range : all) count += static_cast<uint32_t>(range.size());
        return count;
    }
    bool contains(const CoreCoord& core) const {
        return std::any_of(all.begin(), all.end(), [&](const CoreRange& range) { return range.contains(core); });
    }

private:
    std::vector<CoreRange> all;
};
}  // namespace tt::tt_metal

// The SDK has these outside of its namespaces.
using tt::tt_metal::CoreCoord;
using tt::tt_metal::CoreRange;
using tt::tt_metal::CoreRangeSet;
