#include "tests/server/exposition.h"

#include <cmath>
#include <regex>
#include <set>
#include <sstream>

namespace pullback::test {
namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

class Reader {
 public:
  Exposition Read(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) ReadLine(line);
    Check(EndsWith(text, "\n"), "the last line does not end");
    for (const auto& [name, type] : out_.types) CheckFamily(name, type);
    CheckHistograms();
    return std::move(out_);
  }

 private:
  void Check(bool holds, const std::string& fault) {
    if (!holds) out_.faults.push_back(fault);
  }

  void ReadLine(const std::string& line) {
    static const std::regex comment("# (HELP|TYPE) ([a-z_]+) (.+)");
    static const std::regex sample("([a-z_]+)(\\{[^}]*\\})? (\\S+)");
    std::smatch match;
    if (std::regex_match(line, match, comment)) {
      auto& seen = match[1] == "HELP" ? helps_ : out_.types;
      Check(seen.emplace(match[2], match[3]).second, "twice: " + line);
      family_ = match[2];
    } else if (std::regex_match(line, match, sample)) {
      ReadSample(match[1], match[2], match[3], line);
    } else {
      Check(false, "neither comment nor sample: " + line);
    }
  }

  void ReadSample(const std::string& name, const std::string& labels, const std::string& value,
                  const std::string& line) {
    const bool histogram = out_.types[family_] == "histogram";
    const bool own =
        name == family_ || (histogram && (name == family_ + "_bucket" || name == family_ + "_sum" ||
                                          name == family_ + "_count"));
    Check(own, "outside its family: " + line);
    const double number = value == "+Inf" ? INFINITY : std::strtod(value.c_str(), nullptr);
    Check(out_.values.emplace(name + labels, number).second, "twice: " + line);
    Check(!std::regex_search(labels, std::regex("[0-9a-f]{32}")), "a hash as a label: " + line);
    Check(std::regex_match(labels, std::regex("|\\{[a-z_]+=\"[^\"]*\"(,[a-z_]+=\"[^\"]*\")*\\}")),
          "labels: " + line);
  }

  void CheckFamily(const std::string& name, const std::string& type) {
    static const std::set<std::string> kTypes = {"counter", "gauge", "histogram"};
    Check(kTypes.count(type) == 1, "no type: " + name);
    Check(helps_.count(name) == 1 && !helps_[name].empty(), "no HELP: " + name);
    Check(name.rfind("pullback_", 0) == 0, "another prefix: " + name);
    Check((type == "counter") == EndsWith(name, "_total"), "only counters end in _total: " + name);
    for (const char* part : {"milliseconds", "_ms", "_us", "kilobytes", "megabytes", "percent",
                             "minutes", "_bucket", "_count", "_sum", "counter", "gauge"}) {
      Check(name.find(part) == std::string::npos, "not a base unit, or a reserved word: " + name);
    }
    const bool times = EndsWith(name, "_seconds") || EndsWith(name, "_seconds_total");
    Check(type != "histogram" || times, "a duration without its unit: " + name);
  }

  // Buckets never shrink, and the last holds as many as the count says.
  void CheckHistograms() {
    std::map<std::string, std::map<double, double>> buckets;
    static const std::regex bound("(.*)_bucket\\{(.*?),?le=\"([^\"]+)\"\\}");
    for (const auto& [name, value] : out_.values) {
      std::smatch match;
      if (!std::regex_match(name, match, bound)) continue;
      const std::string le = match[3];
      const std::string labels = match[2].length() == 0 ? "" : "{" + match[2].str() + "}";
      buckets[match[1].str() + "_count" + labels][le == "+Inf" ? INFINITY : std::stod(le)] = value;
    }
    for (const auto& [count, by_bound] : buckets) {
      double last = 0;
      for (const auto& [le, value] : by_bound) {
        Check(value >= last, "shrinking buckets: " + count);
        last = value;
      }
      Check(by_bound.count(INFINITY) == 1 && last == out_.values[count], "+Inf bucket: " + count);
      Check(by_bound.begin()->first == 1e-5, "first bucket: " + count);
      Check(by_bound.count(100) == 1, "last bucket: " + count);
    }
  }

  Exposition out_;
  std::map<std::string, std::string> helps_;
  std::string family_;
};

}  // namespace

Exposition ReadExposition(const std::string& text) { return Reader().Read(text); }

}  // namespace pullback::test
