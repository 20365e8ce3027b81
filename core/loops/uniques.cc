#include "core/loops/uniques.h"

#include <algorithm>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

class Uniques {
 public:
  explicit Uniques(Function& f) : f_(f), made_(f.regs.size()), shared_(f.regs.size()) {}

  void Drop() {
    bool any = false;
    ForEach([&](const Node& n) {
      any |= n.kind == Kind::kUnique;
      Note(n);
    });
    if (!any) return;
    for (Block& b : f_.blocks) {
      std::erase_if(b.nodes, [&](const Node& n) {
        if (n.kind != Kind::kUnique || !made_[n.args[0].id] || shared_[n.args[0].id]) return false;
        made_[n.results[0].id] = true;
        same_.emplace_back(n.results[0], n.args[0]);
        return true;
      });
    }
    if (!same_.empty()) Rename();
  }

 private:
  template <typename Fn>
  void ForEach(Fn&& fn) {
    for (const Block& b : f_.blocks) ForEachNode(b.nodes, fn);
  }

  // What else takes the handle takes the only one: whoever keeps it retains it first.
  void Note(const Node& n) {
    if (n.kind == Kind::kAlloc) made_[n.results[0].id] = true;
    if (n.kind == Kind::kRetain) shared_[n.args[0].id] = true;
    for (const auto* list : {&n.body_yields, &n.other_yields}) {
      for (Reg r : *list) shared_[r.id] = true;
    }
  }

  void Rename() {
    std::vector<Reg> name(f_.regs.size());
    for (uint32_t id = 0; id < name.size(); ++id) name[id] = Reg{id};
    for (const auto& [copy, array] : same_) name[copy.id] = name[array.id];
    const auto root = [&](Reg& r) {
      const Reg first = r;
      while (name[r.id] != r) r = name[r.id];
      name[first.id] = r;  // or each of n changes to one array would go through those before it
    };
    for (Block& b : f_.blocks) {
      ForEachRead(b.nodes, root);
      ir::ForEachTermOperand(b.term, root);
    }
  }

  Function& f_;
  std::vector<bool> made_, shared_;
  std::vector<std::pair<Reg, Reg>> same_;
};

}  // namespace

void DropUniques(Function& f) { Uniques(f).Drop(); }

}  // namespace pullback::loops
