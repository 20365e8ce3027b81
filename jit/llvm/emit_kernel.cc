// Kernels. A kernel's body is one function for every target; it is told its place in the grid:
//   k0.body(blockIdx, threadIdx, blockDim, gridDim, shared memory, barrier, failed, parameters…)
// What calls the bodies is in kernel_entry.cc.
#include <algorithm>

#include "jit/llvm/kernel.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using Step = Offload::Step;
using llvm::Value;

bool KernelHook::Emit(FunctionEmitter& e, const loops::Node& node) {
  switch (node.kind) {
    case Kind::kStore: return EmitStore(e, node);
    case Kind::kLaneAdd: return EmitLaneAdd(e, node);
    case Kind::kLoad: return EmitLoad(e, node);
    case Kind::kFor: break;
    default: return false;
  }
  const auto index = indices.find(&node);
  if (index == indices.end()) return false;
  e.Set(node.results[0], index->second);
  e.EmitNodes(node.body);
  return true;
}

bool KernelHook::EmitLoad(FunctionEmitter& e, const loops::Node& node) {
  Value* v = on_load ? on_load(node) : nullptr;
  if (v != nullptr) e.Set(node.results[0], v);
  return v != nullptr;
}

bool KernelHook::EmitStore(FunctionEmitter& e, const loops::Node& node) {
  const auto& cells = nest_.cells;
  if (std::find(cells.begin(), cells.end(), node.args[0]) != cells.end()) return false;
  const auto& keeps = kernel_.keeps;
  if (std::find(keeps.begin(), keeps.end(), node.args[0]) != keeps.end()) {
    if (valid == nullptr) return !stores;
    Where(e, valid, [&] { e.EmitPlainNode(node); });
    return true;
  }
  const auto term = nest_.terms.find(&node);
  if (term != nest_.terms.end() && on_term) {
    on_term(node.args[0], e.Get(node.args[1]), term->second);
  }
  return true;
}

// Of lanes outside the nest; those inside are the thread's own.
bool KernelHook::EmitLaneAdd(FunctionEmitter& e, const loops::Node& node) {
  const auto& lanes = nest_.lanes;
  if (std::find(lanes.begin(), lanes.end(), node.args[0]) == lanes.end()) return false;
  if (on_term) {
    llvm::IRBuilder<>& b = e.b();
    on_term(node.args[0], b.CreateAnd(e.Get(node.args[1]), b.getInt64(kLanes - 1)), node.args[2]);
  }
  return true;
}

void Where(FunctionEmitter& e, Value* condition, llvm::function_ref<void()> body) {
  llvm::BasicBlock* yes = e.NewBlock("where");
  llvm::BasicBlock* join = e.NewBlock("join");
  e.b().CreateCondBr(condition, yes, join);
  e.b().SetInsertPoint(yes);
  body();
  e.b().CreateBr(join);
  e.b().SetInsertPoint(join);
}

std::vector<Value*> TripsOfParallel(KernelSite& site) {
  std::vector<Value*> trips;
  for (const loops::Node* loop : site.kernel.parallel) trips.push_back(TripsOf(site.e, *loop));
  return trips;
}

void EmitPoint(KernelSite& site, Value* point, llvm::ArrayRef<Value*> trips) {
  llvm::IRBuilder<>& b = site.e.b();
  Value* rest = point;
  for (size_t k = trips.size(); k-- > 0;) {
    const loops::Node* loop = site.kernel.parallel[k];
    Value* at = k == 0 ? rest : b.CreateURem(rest, trips[k]);
    if (k > 0) rest = b.CreateUDiv(rest, trips[k]);
    site.hook.indices[loop] = b.CreateAdd(site.e.Get(loop->args[0]), at);
  }
  site.e.EmitNode(*site.nest.root);
}

void TakeTurns(FunctionEmitter& e, Value* first, Value* all, Value* total,
               llvm::function_ref<void(Value* k)> body, llvm::function_ref<void()> poll) {
  llvm::IRBuilder<>& b = e.b();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* head = e.NewBlock("turn");
  llvm::BasicBlock* inside = e.NewBlock("inside");
  llvm::BasicBlock* done = e.NewBlock("done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* k = b.CreatePHI(b.getInt64Ty(), 2);
  k->addIncoming(first, before);
  b.CreateCondBr(b.CreateICmpULT(k, total), inside, done);
  b.SetInsertPoint(inside);
  body(k);
  Value* next = b.CreateAdd(k, all);
  llvm::BasicBlock* again = e.NewBlock("again");
  b.CreateCondBr(b.CreateICmpULT(next, total), again, done);
  b.SetInsertPoint(again);
  poll();
  k->addIncoming(next, b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
}

namespace {

void EmitGrid(KernelSite& site) {
  const std::vector<Value*> trips = TripsOfParallel(site);
  Value* total = site.e.b().getInt64(1);
  for (Value* trip : trips) total = site.e.b().CreateMul(total, trip);
  TakeTurns(
      site.e, site.thread, site.threads, total,
      [&](Value* point) { EmitPoint(site, point, trips); }, [&] { site.e.Poll(); });
}

class KernelEmitter {
 public:
  KernelEmitter(ModuleEmitter& m, const Offload& offload, const Offload::Kernel& kernel,
                const DeviceKernel& about)
      : m_(m),
        plan_(offload.plans[kernel.function]),
        nest_(*kernel.nest),
        kernel_(*kernel.kernel),
        step_(kernel.step),
        about_(about),
        source_(*m.source.functions[kernel.function]),
        f_(Declare()),
        hook_(kernel_, nest_),
        e_(m, source_, f_, f_->getArg(kPlace), &hook_),
        b_(e_.b()) {}

  llvm::Function* Emit() {
    e_.BeginBody();
    llvm::SmallVector<Value*, kPlace> place;
    for (unsigned k = 0; k < kPlace; ++k) place.push_back(f_->getArg(k));
    Value* first = b_.CreateMul(place[kBlockIdx], place[kBlockDim]);
    KernelSite site{e_,
                    hook_,
                    nest_,
                    kernel_,
                    b_.CreateAdd(first, place[kThreadIdx]),
                    b_.CreateMul(place[kBlockDim], place[kGridDim]),
                    place,
                    {},
                    {}};
    SetParameters(site);
    EmitForm(site);
    e_.EndBody();
    return f_;
  }

 private:
  llvm::Function* Declare() {
    llvm::SmallVector<llvm::Type*, 16> params(kShared, m_.i64);
    params.append({m_.ptr, m_.ptr, m_.ptr});  // shared memory, barrier, failed
    for (const DeviceKernel::Param p : about_.params) {
      params.push_back(p == DeviceKernel::Param::kScalar ? static_cast<llvm::Type*>(m_.i64)
                                                         : m_.ptr);
    }
    if (step_ != Step::kOnly) {
      for (size_t p = 0; p < kOrderedParams; ++p) params.push_back(TypeOf(OrderedParam(p)));
    }
    auto* f = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(m_.context), params, false),
        llvm::Function::InternalLinkage, about_.name + ".body", m_.module);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::AlwaysInline);
    return f;
  }

  llvm::Type* TypeOf(OrderedParam p) const {
    return p < OrderedParam::kCounts ? static_cast<llvm::Type*>(m_.i64) : m_.ptr;
  }

  void EmitForm(KernelSite& site) {
    switch (kernel_.form) {
      case loops::OffloadKernel::Form::kGrid: return EmitGrid(site);
      case loops::OffloadKernel::Form::kTiles: return EmitTiles(site);
      case loops::OffloadKernel::Form::kOrdered: return EmitOrderedStep(site, step_);
    }
  }

  Value* Next() { return f_->getArg(next_++); }

  void SetParameters(KernelSite& site) {
    for (const loops::Reg r : nest_.constants) e_.EmitPlainNode(*plan_.constants.at(r.id));
    for (const loops::Reg r : nest_.scalars) e_.Set(r, FromSlot(b_, m_, e_.TypeOf(r), Next()));
    for (const auto& extent : nest_.extents) e_.SetDim(extent.array, extent.axis, Next());
    for (const loops::Reg r : nest_.arrays) {
      llvm::Argument* data = f_->getArg(next_++);
      data->addAttr(
          llvm::Attribute::NoAlias);  // what is stored into is reached in one way (loops.h)
      e_.SetData(r, data);
    }
    for (const loops::Reg r : nest_.cells) e_.SetData(r, e_.Alloca(m_.i64, "cell"));
    for (const loops::OrderedTarget& target : kernel_.ordered) {
      site.lanes.push_back(target.lanes ? Next() : nullptr);
    }
    if (step_ == Step::kOnly) return;
    for (Value*& v : site.ordered) v = Next();
  }

  ModuleEmitter& m_;
  const loops::OffloadPlan& plan_;
  const loops::OffloadNest& nest_;
  const loops::OffloadKernel& kernel_;
  const Step step_;
  const DeviceKernel& about_;
  const loops::Function& source_;
  llvm::Function* f_;
  KernelHook hook_;
  FunctionEmitter e_;
  llvm::IRBuilder<>& b_;
  unsigned next_ = kPlace + 1;
};

// The functions that kernels call, and what those call.
void EmitCallees(ModuleEmitter& m, const loops::Node& root, std::vector<bool>& written) {
  const auto visit = [&](const loops::Node& n) {
    if (n.kind != Kind::kCall || written[n.callee]) return;
    written[n.callee] = true;
    FunctionEmitter(m, n.callee).Emit();
    const loops::Function& callee = *m.source.functions[n.callee];
    for (const loops::Block& block : callee.blocks) {
      for (const loops::Node& inner : block.nodes) EmitCallees(m, inner, written);
    }
  };
  visit(root);
  loops::ForEachNode(root.body, visit);
  loops::ForEachNode(root.other, visit);
}

}  // namespace

void EmitKernels(ModuleEmitter& m, const Offload& offload, bool host, const std::string& entry) {
  m.on_device = true;
  m.for_host = host;
  const std::vector<DeviceKernel> about = offload.Describe(m.source);
  std::vector<llvm::Function*> bodies;
  std::vector<bool> written(m.source.functions.size());
  for (size_t k = 0; k < offload.kernels.size(); ++k) {
    const Offload::Kernel& kernel = offload.kernels[k];
    bodies.push_back(KernelEmitter(m, offload, kernel, about[k]).Emit());
    EmitCallees(m, *kernel.nest->root, written);
    if (!host) EmitNvptxKernel(m, bodies.back(), about[k]);
  }
  if (host) EmitHostEntry(m, bodies, entry);
}

}  // namespace pullback::jit
