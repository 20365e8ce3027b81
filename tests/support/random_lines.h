// What writers of random programs share: choices, and lines with their indentation.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace pullback::testing {

class RandomLines {
 protected:
  explicit RandomLines(uint32_t seed) : rng_(seed) {}

  std::string Pick(std::initializer_list<std::string> of) {
    return *(of.begin() + Number(0, static_cast<int>(of.size()) - 1));
  }
  int Number(int first, int last) { return std::uniform_int_distribution<int>(first, last)(rng_); }
  bool Chance(int of) { return Number(1, of) == 1; }
  void Line(const std::string& text) {
    lines_ += std::string(static_cast<size_t>(depth_ * 2 + 2), ' ') + text + "\n";
  }
  void Open(const std::string& head) {
    Line(head + " {");
    ++depth_;
  }
  void Close() {
    --depth_;
    Line("}");
  }

  std::mt19937 rng_;
  std::string lines_;
  int depth_ = 0;
};

}  // namespace pullback::testing
