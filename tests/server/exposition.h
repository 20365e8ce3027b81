// Prometheus' text format, read with the rules that `promtool check metrics` has.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pullback::test {

struct Exposition {
  std::map<std::string, std::string> types;  // of families
  std::map<std::string, double> values;      // by name and labels, as they are written
  std::vector<std::string> faults;           // rules that are not kept
};

Exposition ReadExposition(const std::string& text);

}  // namespace pullback::test
