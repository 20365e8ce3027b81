#include "tests/support/pass_files.h"

#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/ir/printer.h"
#include "tests/core/ir/filetest.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using ir::filetest::Case;
using Pass = std::function<Status(ir::Module&)>;

constexpr char kRun[] = "# run:";

// Reads numbers and nested brackets, separated by commas.
class ArgumentReader {
 public:
  explicit ArgumentReader(std::string text) : text_(std::move(text)) {}

  Tensor Read(ir::Type type) {
    Tensor t{type.elem, std::vector<int64_t>(type.rank, -1), {}};
    ReadLevel(t, 0);
    for (int64_t& extent : t.shape) extent = extent < 0 ? 0 : extent;
    Accept(',');
    return t;
  }
  bool AtEnd() {
    SkipSpace();
    return at_ == text_.size();
  }

 private:
  void ReadLevel(Tensor& t, size_t axis) {
    if (axis == t.shape.size()) return ReadNumber(t);
    REQUIRE(Accept('['));
    int64_t count = 0;
    for (; !Accept(']'); Accept(',')) {
      ReadLevel(t, axis + 1);
      ++count;
    }
    REQUIRE((t.shape[axis] == -1 || t.shape[axis] == count));
    t.shape[axis] = count;
  }
  void ReadNumber(Tensor& t) {
    SkipSpace();
    const char* begin = text_.c_str() + at_;
    char* end = nullptr;
    const bool integer = t.dtype == DType::kI64;  // doubles have not all of them
    const int64_t n = integer ? std::strtoll(begin, &end, 10) : 0;
    const double v = integer ? 0 : std::strtod(begin, &end);
    INFO(begin);
    REQUIRE(end != begin);
    at_ += static_cast<size_t>(end - begin);
    switch (t.dtype) {
      case DType::kF64: return Append(t, v);
      case DType::kF32: return Append(t, static_cast<float>(v));
      case DType::kI64: return Append(t, n);
      case DType::kBool: return Append(t, static_cast<uint8_t>(v != 0));
    }
  }
  template <typename T>
  void Append(Tensor& t, T v) {
    t.data.resize(t.data.size() + sizeof v);
    std::memcpy(t.data.data() + t.data.size() - sizeof v, &v, sizeof v);
  }
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Accept(char c) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string text_;
  size_t at_ = 0;
};

std::vector<std::string> RunLines(const std::string& heading) {
  std::vector<std::string> lines;
  std::istringstream in(heading);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(kRun, 0) == 0) lines.push_back(line.substr(sizeof kRun - 1));
  }
  return lines;
}

// Every `# run:` line of every `.ir` file of a folder.
void ForEachRunOf(const std::string& folder,
                  const std::function<void(const Case&, const std::string& args)>& fn) {
  for (const auto& entry : std::filesystem::directory_iterator(ir::filetest::SourcePath(folder))) {
    if (entry.path().extension() == ".ir")
      ForEachRun(folder + "/" + entry.path().filename().string(), fn);
  }
}

double Element(const Tensor& t, int64_t i) {
  switch (t.dtype) {
    case DType::kF64: return t.At<double>(i);
    case DType::kF32: return static_cast<double>(t.At<float>(i));
    case DType::kI64: return static_cast<double>(t.At<int64_t>(i));
    case DType::kBool: return t.At<uint8_t>(i);
  }
  return 0;
}

void CheckEqual(const Tensor& before, const Tensor& after) {
  REQUIRE(before.dtype == after.dtype);
  REQUIRE(before.shape == after.shape);
  for (int64_t i = 0; i < before.ElementCount(); ++i) {
    const double x = Element(before, i), y = Element(after, i);
    if (std::isnan(x) && std::isnan(y)) continue;
    CHECK(x == Approx(y).epsilon(1e-12).margin(1e-300));
  }
}

}  // namespace

std::vector<Tensor> ParseArguments(const std::string& text, const ir::Module& module) {
  ArgumentReader reader(text);
  std::vector<Tensor> args;
  const ir::Function& f = module.Get(module.entry);
  for (ir::Value v : f.params()) args.push_back(reader.Read(f.TypeOf(v)));
  REQUIRE(reader.AtEnd());
  return args;
}

void ForEachRun(const std::string& file,
                const std::function<void(const Case&, const std::string& args)>& fn) {
  std::ifstream in(ir::filetest::SourcePath(file));
  REQUIRE(in);
  for (const Case& c : ir::filetest::ReadCases(in)) {
    for (const std::string& args : RunLines(c.heading)) {
      INFO(file << "\n" << c.heading);
      fn(c, args);
    }
  }
}

void CheckSameResults(const ir::Module& before, const ir::Module& after, const std::string& line) {
  const std::vector<Tensor> args = ParseArguments(line, before);
  INFO(ir::Print(after));
  const std::vector<Tensor> x = RunOk(before, args), y = RunOk(after, args);
  REQUIRE(x.size() == y.size());
  for (size_t k = 0; k < x.size(); ++k) CheckEqual(x[k], y[k]);
}

Pass OverFunctions(std::function<void(ir::Function&)> pass) {
  return [pass = std::move(pass)](ir::Module& m) {
    for (auto& f : m.functions) pass(*f);
    return Status();
  };
}

void RunPassFiles(const std::string& pass_name, const Pass& pass) {
  const std::string folder = "tests/filetests/" + pass_name;
  ir::filetest::RunFolder(folder, pass);
  ForEachRunOf(folder, [&](const Case& c, const std::string& line) {
    const ir::Module before = ParseIr(c.before);
    ir::Module after = before.Clone();
    REQUIRE(pass(after).ok());
    CheckSameResults(before, after, line);
  });
}

void RunDerivativeFiles(const std::string& pass_name, const Pass& pass) {
  const std::string folder = "tests/filetests/" + pass_name;
  ir::filetest::RunFolder(folder, pass);
  ForEachRunOf(folder, [&](const Case& c, const std::string& line) {
    const ir::Module before = ParseIr(c.before);
    CheckDerivatives(before, ParseArguments(line, before));
  });
}

}  // namespace pullback::testing
