// Numbers of nodes: they name the places of traps. They depend on the tree alone, so that texts which
// differ in layout and names have equal ones.
#include "core/lang/check.h"
#include "core/lang/check_visit.h"

namespace pullback::lang {

// A function's first number stands for the function as a whole.
void NumberNodes(Program& program) {
  program.spans.assign(1, Span());
  auto number = [&](const Span& span, bool from_prelude) {
    program.spans.push_back(from_prelude ? Span() : span);
    return static_cast<uint32_t>(program.spans.size() - 1);
  };
  for (auto& f : program.functions) {
    f->first_ordinal = number(f->span, f->from_prelude);
    auto on = [&](auto& node) { node.ordinal = number(node.span, f->from_prelude); };
    TreeVisitor<decltype(on)>(on).Visit(*f);
    f->node_count = static_cast<uint32_t>(program.spans.size()) - f->first_ordinal;
  }
}

}  // namespace pullback::lang
