// No array that a program makes is larger than its own arrays and results, in its value and in its gradient by each
// argument and by all: the losses and models of tests/kept, with each one or two of their sizes large and the others small.
// What has to be kept is named in the program: how many such arrays there are at most, and why.
//
//   # keeps value, by y: 1, keys of all points, which each query needs
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "core/lang/lang.h"
#include "core/loops/walk.h"
#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"
#include "tests/support/paths.h"
#include "tests/support/random_layers.h"
#include "tests/support/settings.h"

namespace pullback::loops {
namespace {

namespace fs = std::filesystem;
using pipeline::Transform;
using Sizes = std::map<std::string, int64_t>;

constexpr int64_t kSmall = 2;
// How large a size is, and how many elements for each of the own arrays' nobody has that has no large extent more than
// they: rows may be taken in blocks of 16, with some next to these. `many` of `few`, beside an own array of few by few, are
// more than `beyond` such.
struct Scale {
  int64_t large, beyond, many, few;
};
constexpr Scale kEvaluated{1000, 40, 4000, 64}, kRun{40, 9, 320, 32};
// Of a program that says, "# blocks of 50 rows", that its turns take many: up to 64.
constexpr Scale kOfMany{160, 36, 320, 32};

bool IsNumber(const std::string& word) { return std::isdigit(word.front()) != 0; }
bool IsName(const std::string& word) { return std::isalpha(word.front()) != 0; }

std::vector<std::string> SizeNames(const lang::Signature& signature) {
  std::set<std::string> names;
  for (const lang::Parameter& p : signature.params) {
    for (const std::string& size : p.type.dims) {
      std::istringstream words(size);
      for (std::string word; words >> word;) {
        if (IsName(word)) names.insert(word);
      }
    }
  }
  return {names.begin(), names.end()};
}

// Of a sum of products, `2 * n - 1`.
int64_t ValueOf(const std::string& size, const Sizes& sizes) {
  std::istringstream words(size);
  int64_t sum = 0, product = 1;
  for (std::string word; words >> word;) {
    if (IsName(word)) product *= sizes.at(word);
    if (IsNumber(word)) product *= std::stoll(word);
    if (word != "+" && word != "-") continue;
    sum += product;
    product = word == "+" ? 1 : -1;
  }
  return sum + product;
}

bool HasSquareOf(const lang::Signature& signature, const std::string& size) {
  return std::any_of(signature.params.begin(), signature.params.end(),
                     [&](const lang::Parameter& p) {
                       return std::count(p.type.dims.begin(), p.type.dims.end(), size) > 1;
                     });
}

// Each one large, each two; many of the one where an array is square in the other, which hides rows of it otherwise.
std::vector<Sizes> SizesToTry(const lang::Signature& signature, Scale scale) {
  const std::vector<std::string> names = SizeNames(signature);
  std::vector<Sizes> all;
  Sizes small;
  for (const std::string& name : names) small[name] = kSmall;
  for (size_t a = 0; a < names.size(); ++a) {
    for (size_t b = a; b < names.size(); ++b) {
      all.push_back(small);
      all.back()[names[a]] = all.back()[names[b]] = scale.large;
    }
  }
  for (const std::string& few : names) {
    if (!HasSquareOf(signature, few)) continue;
    for (const std::string& many : names) {
      if (many == few) continue;
      all.push_back(small);
      all.back()[few] = scale.few;
      all.back()[many] = scale.many;
    }
  }
  return all;
}

Tensor WithoutElements(const ApiType& type, const Sizes& sizes) {
  Tensor t{type.dtype, {}, {}};
  for (const std::string& size : type.dims)
    t.shape.push_back(std::max(ValueOf(size, sizes), int64_t{0}));
  return t;
}
// Indices are in range of what is small.
Tensor Argument(const ApiType& type, const Sizes& sizes) {
  Tensor t = WithoutElements(type, sizes);
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  for (int64_t k = 0; k < t.ElementCount(); ++k) {
    integers.push_back(k * 5 % 3 % kSmall);
    numbers.push_back(0.5 + 0.4 * std::sin(static_cast<double>(7 * k + 1)));
  }
  switch (type.dtype) {
    case DType::kF64: return Tensor::Of(type.dtype, t.shape, numbers);
    case DType::kF32:
      return Tensor::Of(type.dtype, t.shape, std::vector<float>(numbers.begin(), numbers.end()));
    case DType::kI64: return Tensor::Of(type.dtype, t.shape, integers);
    case DType::kBool:
      return Tensor::Of(type.dtype, t.shape,
                        std::vector<uint8_t>(integers.begin(), integers.end()));
  }
  return t;
}

struct Job {
  std::string name;  // "value", "by x", "by all"
  ir::Module module;
};

std::vector<Job> JobsOf(const std::string& text, const lang::Signature& signature) {
  const ir::Module ssa = testing::LowerText(text, signature.entry);
  std::vector<Job> jobs;
  jobs.push_back({"value", testing::Derived(ssa, Transform::kValue)});
  std::vector<bool> all;
  for (const lang::Parameter& p : signature.params) {
    const bool floats = p.type.dtype == DType::kF64 || p.type.dtype == DType::kF32;
    all.push_back(floats && !p.type.dims.empty());
  }
  for (size_t k = 0; k < all.size(); ++k) {
    if (!all[k] || std::count(all.begin(), all.end(), true) == 1) continue;
    std::vector<bool> one(all.size());
    one[k] = true;
    jobs.push_back(
        {"by " + signature.params[k].name, testing::Derived(ssa, Transform::kValueAndGrad, one)});
  }
  jobs.push_back({"by all", testing::Derived(ssa, Transform::kValueAndGrad, all)});
  return jobs;
}

// The elements of each array that is made; nothing: it traps, such as for a window that is larger than its image.
using Made = std::optional<std::vector<int64_t>>;

// Of a function of one block, by its integers alone.
class SizesOfBlock {
 public:
  SizesOfBlock(const Function& f, const std::vector<Tensor>& args) {
    for (size_t k = 0; k < args.size(); ++k) {
      const Reg param = f.blocks[0].params[k];
      if (f.TypeOf(param).IsArray()) dims_[param] = args[k].shape;
    }
    for (const Node& n : f.blocks[0].nodes) Visit(f, n);
  }
  Made made() const { return trapped_ ? std::nullopt : Made(made_); }

 private:
  void Visit(const Function& f, const Node& n) {
    const bool known =
        std::all_of(n.args.begin(), n.args.end(), [&](Reg r) { return bits_.contains(r); });
    if (n.kind == Node::Kind::kDim) {
      bits_[n.results[0]] = static_cast<uint64_t>(dims_.at(n.args[0])[n.bits]);
    } else if (n.kind == Node::Kind::kUnique) {
      dims_[n.results[0]] = dims_.at(n.args[0]);
    } else if (n.kind == Node::Kind::kScalar && known) {
      std::vector<uint64_t> args;
      for (Reg r : n.args) args.push_back(bits_.at(r));
      const bool constant = n.op == ir::Op::Const;
      if (!constant && n.op == ir::Op::Cast) return;
      bits_[n.results[0]] =
          constant ? n.bits : OpsForTests().eval(n.op, f.TypeOf(n.args.back()).elem, args.data());
    } else if (n.kind == Node::Kind::kCheck && bits_.contains(n.args[0])) {
      trapped_ |= bits_.at(n.args[0]) == 0;
    } else if (n.kind == Node::Kind::kAlloc) {
      REQUIRE(known);
      int64_t elements = 1;
      for (Reg r : n.args) {
        dims_[n.results[0]].push_back(static_cast<int64_t>(bits_.at(r)));
        elements *= dims_[n.results[0]].back();
      }
      made_.push_back(elements);
    }
  }

  std::map<Reg, std::vector<int64_t>> dims_;
  std::map<Reg, uint64_t> bits_;
  std::vector<int64_t> made_;
  bool trapped_ = false;
};

bool MakesOutsideLoops(const Module& loops) {
  if (loops.functions.size() != 1 || loops.functions[0]->blocks.size() != 1) return false;
  bool inside = false;
  for (const Node& n : loops.functions[0]->blocks[0].nodes) {
    ForEachNode(n.body, [&](const Node& inner) { inside |= inner.kind == Node::Kind::kAlloc; });
    ForEachNode(n.other, [&](const Node& inner) { inside |= inner.kind == Node::Kind::kAlloc; });
  }
  return !inside;
}

Made Run(const Module& loops, const std::vector<Tensor>& args) {
  const auto run = Interpret(loops, args, OpsForTests());
  INFO(run.status().ToString());
  REQUIRE(run.ok());
  return run->trap ? std::nullopt : Made(run->made);
}

struct Larger {
  int64_t most = 0;   // so many, at once or one after the other
  std::string where;  // the sizes that are large
};

// The losses are numbers, and gradients as large as arguments.
Larger FindLarger(const Job& job, const lang::Signature& signature, Scale run = kRun) {
  const auto loops = LowerToLoops(job.module, kRows);
  REQUIRE(loops.ok());
  const bool evaluates = MakesOutsideLoops(*loops);
  const Scale scale = evaluates ? kEvaluated : run;
  Larger found;
  int runs = 0;
  for (const Sizes& sizes : SizesToTry(signature, scale)) {
    std::vector<Tensor> args;
    int64_t own = 1;
    for (const lang::Parameter& p : signature.params) {
      args.push_back(evaluates ? WithoutElements(p.type, sizes) : Argument(p.type, sizes));
      own = std::max(own, args.back().ElementCount());
    }
    const Made made =
        evaluates ? SizesOfBlock(*loops->functions[0], args).made() : Run(*loops, args);
    if (!made) continue;
    ++runs;
    const int64_t larger = std::count_if(made->begin(), made->end(),
                                         [&](int64_t size) { return size > scale.beyond * own; });
    if (larger == 0) continue;
    found.most = std::max(found.most, larger);
    found.where += found.where.empty() ? "" : ",";
    for (const auto& [name, size] : sizes) found.where += size != kSmall ? " " + name : "";
    found.where += ": " + std::to_string(larger);
  }
  CHECK(runs > 0);
  return found;
}

// By job, how many the program says that it keeps.
std::map<std::string, int64_t> Named(const std::string& text) {
  std::map<std::string, int64_t> jobs;
  const std::string mark = "# keeps ";
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const size_t end = text.find(':', at), start = at + mark.size();
    REQUIRE(end != std::string::npos);
    std::istringstream names(text.substr(start, end - start));
    for (std::string name; std::getline(names >> std::ws, name, ',');)
      std::istringstream(text.substr(end + 1)) >> jobs[name];
  }
  return jobs;
}

TEST_CASE("kept arrays: none is larger than the program's own", "[long]") {
  int programs = 0;
  for (const auto& file : fs::directory_iterator(testing::SourcePath("tests/kept"))) {
    if (file.path().extension() != ".pull") continue;
    ++programs;
    const std::string text =
        testing::ReadSourceFile("tests/kept/" + file.path().filename().string());
    const auto program = lang::Parse(text);
    REQUIRE(program.ok());
    const auto signature = lang::GetSignature(*program, "f");
    REQUIRE(signature.ok());
    const std::map<std::string, int64_t> named = Named(text);
    for (const Job& job : JobsOf(text, *signature)) {
      const bool of_many = text.find("# blocks of ") != std::string::npos;
      const Larger found = FindLarger(job, *signature, of_many ? kOfMany : kRun);
      const auto known = named.find(job.name);
      INFO(file.path().filename().string() << ", " << job.name << ": large" << found.where);
      CHECK(found.most == (known == named.end() ? 0 : known->second));
    }
  }
  CHECK(programs > 0);
}

TEST_CASE("kept arrays: none is larger than the own of random losses of layers", "[long]") {
  // Layers behind each other need more rows next to a block's.
  constexpr Scale kDeep{96, 18, 320, 32};
  const uint32_t first = testing::Setting("PULLBACK_LAYERS_SEED", 1);
  const uint32_t count = testing::Setting("PULLBACK_LAYERS_COUNT", 60);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const std::string text = testing::RandomLayersProgram(seed);
    INFO("seed " << seed << "\n" << text);
    const auto program = lang::Parse(text);
    REQUIRE(program.ok());
    const auto signature = lang::GetSignature(*program, "f");
    REQUIRE(signature.ok());
    for (const Job& job : JobsOf(text, *signature)) {
      const Larger found = FindLarger(job, *signature, kDeep);
      INFO(job.name << ": large" << found.where);
      CHECK(found.most == 0);
    }
  }
}

}  // namespace
}  // namespace pullback::loops
