// A permutation of large values in place.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace retort {

// Moves the value at order[k] to place k, for every k. REQUIRES: `order` has every index once. Its contents are lost.
template <typename T>
void Reorder(std::vector<T>& values, std::vector<std::size_t>& order) {
  for (std::size_t first = 0; first < order.size(); ++first) {
    if (order[first] == first) continue;
    T held = std::move(values[first]);
    std::size_t place = first;
    while (order[place] != first) {
      const std::size_t from = std::exchange(order[place], place);
      values[place] = std::move(values[from]);
      place = from;
    }
    values[place] = std::move(held);
    order[place] = place;
  }
}

}  // namespace retort
