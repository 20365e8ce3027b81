#include "core/loops/join_sums.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/loops/effects.h"
#include "core/loops/same_integers.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

// for %o in 0..%count { %into[%o] = %into[%o] + %term[%o] }
struct SumLoop {
  Reg into, term;
};

std::optional<SumLoop> AsSumLoop(const Node& n) {
  if (n.kind != Kind::kFor || n.body.size() != 4) return std::nullopt;
  const Node &x = n.body[0], &y = n.body[1], &sum = n.body[2], &store = n.body[3];
  const bool sums = x.kind == Kind::kLoad && y.kind == Kind::kLoad && sum.kind == Kind::kScalar &&
                    sum.op == ir::Op::Add && store.kind == Kind::kStore;
  if (!sums || x.args[0] == y.args[0] || store.args[2] != sum.results[0] ||
      sum.args != std::vector<Reg>{x.results[0], y.results[0]})
    return std::nullopt;
  for (const Node* access : {&x, &y, &store}) {
    if (access->args[1] != n.results[0]) return std::nullopt;
  }
  if (store.args[0] == x.args[0]) return SumLoop{x.args[0], y.args[0]};
  if (store.args[0] == y.args[0]) return SumLoop{y.args[0], x.args[0]};
  return std::nullopt;
}

class BlockSums {
 public:
  BlockSums(Function& f, Block& b)
      : f_(f), nodes_(b.nodes), gone_(b.nodes.size()), arrays_of_(b.nodes.size()), same_(f) {
    for (size_t k = 0; k < nodes_.size(); ++k) {
      NoteUses(k, nodes_[k]);
      same_.Note(nodes_[k]);
    }
  }

  void Join() {
    for (size_t k = 0; k < nodes_.size(); ++k) {
      const std::optional<SumLoop> sum = AsSumLoop(nodes_[k]);
      if (!sum || !CoversBoth(*sum, nodes_[k])) continue;
      if (!JoinTerm(*sum, k) && !JoinInto(*sum, k) && MakeLast(*sum, k)) JoinTerm(*sum, k);
    }
    size_t k = 0;
    std::erase_if(nodes_, [&](const Node&) { return gone_[k++]; });
  }

 private:
  using Users = std::vector<size_t>;  // nodes of the block, ascending

  void NoteUses(size_t k, const Node& n) {
    for (Reg r : n.args) {
      if (!f_.TypeOf(r).IsArray()) continue;
      Users& users = users_[r];
      if (!users.empty() && users.back() == k) continue;
      users.push_back(k);
      arrays_of_[k].push_back(r);
    }
    if (n.kind == Kind::kAlloc) {
      made_[n.results[0]] = k;
      arrays_of_[k].push_back(n.results[0]);
    }
    for (const Node& inner : n.body) NoteUses(k, inner);
    for (const Node& inner : n.other) NoteUses(k, inner);
  }

  // Whether the loop runs over all elements of two arrays of the same extents.
  bool CoversBoth(const SumLoop& sum, const Node& loop) const {
    const auto into = made_.find(sum.into), term = made_.find(sum.term);
    if (into == made_.end() || term == made_.end() || !same_.IsZero(loop.args[0])) return false;
    const std::vector<Reg>& extents = nodes_[into->second].args;
    return same_.All(extents) == same_.All(nodes_[term->second].args) &&
           same_.IsProduct(loop.args[1], extents);
  }
  // What nothing uses behind the sum but its release.
  bool Ends(Reg term) const {
    const Users& users = users_.at(term);
    return users.size() == 3 && nodes_[users[2]].kind == Kind::kRelease;
  }

  // The last node that uses it before another; none.
  std::optional<size_t> LastUser(Reg array, size_t before) const {
    const Users& users = users_.at(array);
    const auto it = std::lower_bound(users.begin(), users.end(), before);
    return it == users.begin() ? std::nullopt : std::optional(*(it - 1));
  }
  // The loop between which and `sum` nothing uses the array, which it makes: it stores each element once.
  std::optional<size_t> MakerOf(Reg array, size_t sum) const {
    const auto alloc = made_.find(array);
    if (alloc == made_.end() || nodes_[alloc->second].bits == 1) return std::nullopt;
    const std::optional<size_t> maker = LastUser(array, sum);
    if (!maker || users_.at(array).front() != *maker || nodes_[*maker].kind != Kind::kFor)
      return std::nullopt;
    std::vector<Reg> loops;
    int stores = 0;
    bool others = false;
    Look(nodes_[*maker], array, loops, stores, others);
    return stores == 1 && !others ? maker : std::nullopt;
  }
  static bool Stores(const Node& n, Reg array) {
    bool stores = false;
    const auto look = [&](const Node& inner) {
      stores |= inner.kind == Kind::kStore && inner.args[0] == array;
    };
    ForEachNode(n.body, look);
    ForEachNode(n.other, look);
    return stores;
  }
  static void Look(const Node& n, Reg array, std::vector<Reg>& loops, int& stores, bool& others) {
    if (n.kind == Kind::kStore && n.args[0] == array) {
      ++stores;
      for (Reg index : loops)
        others |= std::find(n.apart.begin(), n.apart.end(), index) == n.apart.end();
      return;
    }
    for (const auto* list : {&n.args, &n.body_yields, &n.other_yields})
      others |= std::find(list->begin(), list->end(), array) != list->end();
    others |= n.kind == Kind::kIf && Stores(n, array);
    if (n.kind == Kind::kFor) loops.push_back(n.results[0]);
    for (const Node& inner : n.body) Look(inner, array, loops, stores, others);
    for (const Node& inner : n.other) Look(inner, array, loops, stores, others);
    if (n.kind == Kind::kFor) loops.pop_back();
  }
  bool IsThereAt(Reg array, size_t node) const { return made_.at(array) < node; }

  // Where the term is made it is added to what is there.
  bool JoinTerm(const SumLoop& sum, size_t at) {
    const std::optional<size_t> maker = MakerOf(sum.term, at);
    if (!maker || !Ends(sum.term) || !IsThereAt(sum.into, *maker)) return false;
    const std::optional<size_t> before = LastUser(sum.into, at);
    if (!before || *before >= *maker) return false;
    AddAtStore(nodes_[*maker], sum.term, sum.into, sum.into);
    for (const size_t node : {made_.at(sum.term), users_.at(sum.term)[2], at}) gone_[node] = true;
    Use(sum.into, at, *maker);
    return true;
  }
  // What is made last is the array that the other is added to.
  bool JoinInto(const SumLoop& sum, size_t at) {
    const std::optional<size_t> maker = MakerOf(sum.into, at);
    if (!maker || !IsThereAt(sum.term, *maker)) return false;
    const std::optional<size_t> before = LastUser(sum.term, at);
    if (!before || *before >= *maker) return false;
    AddAtStore(nodes_[*maker], sum.into, sum.term, sum.into);
    gone_[at] = true;
    Use(sum.term, at, *maker);
    std::erase(users_.at(sum.into), at);
    return true;
  }
  // The array is used there in place of the sum, which is gone.
  void Use(Reg array, size_t sum, size_t node) {
    Users& users = users_.at(array);
    std::erase(users, sum);
    users.insert(std::lower_bound(users.begin(), users.end(), node), node);
    arrays_of_[node].push_back(array);
  }

  // The loop that makes the term moves behind what makes the array that it is added to, and releases of what it reads
  // with it: its node changes places with those in between.
  bool MakeLast(const SumLoop& sum, size_t at) {
    constexpr size_t kFar = 64;
    const std::optional<size_t> maker = MakerOf(sum.term, at), last = LastUser(sum.into, at);
    if (!maker || !last || !Ends(sum.term) || *last < *maker || *last - *maker > kFar) return false;
    const Effects own = EffectsOf(f_, nodes_[*maker]);
    std::vector<size_t> moves = {*maker};
    for (size_t k = *maker + 1; k <= *last; ++k) {
      if (gone_[k] || DependenceOf(EffectsOf(f_, nodes_[k]), own) == Dependence::kNone) continue;
      if (nodes_[k].kind != Kind::kRelease) return false;
      moves.push_back(k);
    }
    for (size_t k = 0; k < moves.size(); ++k) Move(moves[k] - k, *last);
    return true;
  }
  void Move(size_t from, size_t to) {
    const auto rotate = [&](auto& list) {
      const auto first = list.begin() + static_cast<std::ptrdiff_t>(from);
      std::rotate(first, first + 1, list.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    };
    rotate(nodes_);
    rotate(gone_);
    rotate(arrays_of_);
    const auto moved = [&](size_t k) {
      if (k == from) return to;
      return k > from && k <= to ? k - 1 : k;
    };
    std::set<Reg> arrays;  // of the nodes that have another place
    for (size_t k = from; k <= to; ++k) arrays.insert(arrays_of_[k].begin(), arrays_of_[k].end());
    for (Reg array : arrays) {
      if (const auto made = made_.find(array); made != made_.end())
        made->second = moved(made->second);
      const auto users = users_.find(array);
      if (users == users_.end()) continue;
      for (size_t& k : users->second) k = moved(k);
      std::sort(users->second.begin(), users->second.end());
    }
  }

  // What the loop stores to `stored` goes to `to`, with the element of `term` added.
  void AddAtStore(Node& n, Reg stored, Reg term, Reg to) {
    for (std::vector<Node>* nodes : {&n.body, &n.other}) {
      for (size_t k = 0; k < nodes->size(); ++k) {
        Node& store = (*nodes)[k];
        AddAtStore(store, stored, term, to);
        if (store.kind != Kind::kStore || store.args[0] != stored) continue;
        Node load, sum;
        load.kind = Kind::kLoad;
        load.args = {term, store.args[1]};
        load.rows = store.rows;
        load.proofs = store.proofs;
        load.results = {f_.NewReg(f_.TypeOf(term).Element())};
        sum.op = ir::Op::Add;
        sum.args = {store.args[2], load.results[0]};
        sum.results = {f_.NewReg(f_.TypeOf(term).Element())};
        store.args = {to, store.args[1], sum.results[0]};
        const auto place = nodes->begin() + static_cast<std::ptrdiff_t>(k);
        nodes->insert(nodes->insert(place, std::move(sum)), std::move(load));
        return;
      }
    }
  }

  Function& f_;
  std::vector<Node>& nodes_;
  std::vector<bool> gone_;
  std::vector<std::vector<Reg>> arrays_of_;  // by node, those that it uses or makes
  SameIntegers same_;
  std::map<Reg, Users> users_;
  std::map<Reg, size_t> made_;  // by array, the node
};

}  // namespace

void JoinSums(Function& f) {
  for (Block& b : f.blocks) BlockSums(f, b).Join();
}

}  // namespace pullback::loops
