// A whole module: its functions, and the entry that the runtime calls.
#include "jit/baseline/writer.h"

namespace pullback::jit {

using loops::Node;

ModuleWriter::ModuleWriter(const loops::Module& from, asmjit::CodeHolder& code)
    : source(from), a(&code), frames(from.functions.size()) {}

// mov's constant is the last eight bytes of the instruction; it is filled in when the code is loaded.
void ModuleWriter::CallRuntime(const std::string& symbol) {
  constexpr uint64_t kUnknown = 0x7070707070707070;
  a.setInlineComment(symbol.c_str());
  a.mov(x86::rax, kUnknown);
  addresses.push_back({static_cast<uint32_t>(a.offset() - 8), symbol});
  a.call(x86::rax);
}

// Functions that can come back to themselves: they count the depth and poll.
void ModuleWriter::MarkRecursive(const std::vector<uint32_t>& reached) {
  std::vector<std::vector<uint32_t>> callees(source.functions.size());
  for (const uint32_t f : reached) {
    for (const loops::Block& block : source.functions[f]->blocks) {
      loops::ForEachNode(block.nodes, [&](const Node& node) {
        if (node.kind == Node::Kind::kCall) callees[f].push_back(node.callee);
      });
    }
  }
  recursive_.assign(source.functions.size(), false);
  for (const uint32_t f : reached) {
    std::vector<bool> seen(source.functions.size());
    std::vector<uint32_t> open = callees[f];
    while (!open.empty() && !recursive_[f]) {
      const uint32_t g = open.back();
      open.pop_back();
      recursive_[f] = g == f;
      if (seen[g]) continue;
      seen[g] = true;
      open.insert(open.end(), callees[g].begin(), callees[g].end());
    }
  }
}

Status ModuleWriter::Write() {
  const std::vector<uint32_t> reached = loops::ReachedFunctions(source);
  MarkRecursive(reached);
  functions.resize(source.functions.size());
  for (const uint32_t f : reached) functions[f] = a.newLabel();
  for (const uint32_t f : reached) PB_RETURN_IF_ERROR(FunctionWriter(*this, f).Write());
  WriteEntry();
  return {};
}

namespace {

// The one NaN that leaves a kernel; the upper half of an f32's word is 0.
void WriteFloatResult(x86::Assembler& a, const x86::Mem& word, DType t) {
  const bool f64 = t == DType::kF64;
  const asmjit::Label ordered = a.newLabel();
  if (f64) {
    a.movsd(x86::xmm0, word);
    a.mov(x86::rax, word);
    a.ucomisd(x86::xmm0, x86::xmm0);
  } else {
    x86::Mem low = word;
    low.setSize(4);
    a.movss(x86::xmm0, low);
    a.mov(x86::eax, low);
    a.ucomiss(x86::xmm0, x86::xmm0);
  }
  a.jnp(ordered);
  a.mov(x86::rax, f64 ? 0x7ff8000000000000 : 0x7fc00000);
  a.bind(ordered);
  a.mov(word, x86::rax);
}

}  // namespace

// (context, arguments, results). Bools of the arguments are 0 or 1 already: the engine sees to that.
void ModuleWriter::WriteEntry() {
  const loops::Function& f = *source.functions[source.entry];
  entry = a.newLabel();
  a.bind(entry);
  a.push(x86::rbp);
  a.mov(x86::rbp, x86::rsp);
  a.push(x86::r12);
  a.sub(x86::rsp, 8);  // a call finds the stack aligned to 16 bytes
  a.mov(x86::r12, x86::rdx);
  a.call(functions[source.entry]);
  for (size_t i = 0; i < f.results.size(); ++i) {
    const ir::Type type = f.results[i];
    const x86::Mem word = x86::qword_ptr(x86::r12, static_cast<int32_t>(8 * i));
    // NaNs in arrays and lists are looked at when they are copied out.
    if (type.IsScalar() && type.IsFloat()) WriteFloatResult(a, word, type.elem);
  }
  a.add(x86::rsp, 8);
  a.pop(x86::r12);
  a.pop(x86::rbp);
  a.ret();
}

}  // namespace pullback::jit
