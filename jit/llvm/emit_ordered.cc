// Terms that are made in parallel and joined in the order of the loops: the four kernels of
// jit/device_code.h.
#include "jit/llvm/kernel.h"

namespace pullback::jit {

using llvm::Value;
using loops::OrderedTarget;
using P = OrderedParam;
using Step = Offload::Step;

namespace {

constexpr int64_t kPollEveryPoints = 64, kPollEveryTerms = 4096;

uint32_t FirstBucket(const loops::OffloadKernel& kernel, loops::Reg into) {
  uint32_t first = 0;
  for (const OrderedTarget& target : kernel.ordered) {
    if (target.into == into) break;
    first += target.buckets();
  }
  return first;
}

class OrderedEmitter {
 public:
  explicit OrderedEmitter(KernelSite& site)
      : site_(site), e_(site.e), m_(site.e.m()), b_(site.e.b()) {}

  // --- count and make

  void EmitSegment(bool make) {
    site_.hook.stores = make;
    site_.hook.on_term = [&](loops::Reg into, Value* element, loops::Reg term) {
      const bool lanes = e_.source().regs[into.id].lanes;
      const uint32_t buckets = lanes ? loops::kLanes : loops::kScatterBuckets;
      Value* bucket = b_.CreateAdd(Number(FirstBucket(site_.kernel, into)),
                                   b_.CreateAnd(element, Number(buckets - 1)));
      Value* count = CountAt(site_.thread, bucket);
      Value* old = b_.CreateLoad(m_.i64, count);
      b_.CreateStore(b_.CreateAdd(old, Number(1)), count);
      if (make) File(bucket, old, element, term);
    };
    const std::vector<Value*> trips = TripsOfParallel(site_);
    Value* begin = site_.Of(P::kBegin);
    Value* end = site_.Of(P::kEnd);
    Value* segments = site_.Of(P::kSegments);
    Value* points = b_.CreateSub(end, begin);
    Value* length =
        b_.CreateUDiv(b_.CreateAdd(points, b_.CreateSub(segments, Number(1))), segments);
    Value* from = b_.CreateAdd(begin, b_.CreateMul(site_.thread, length));
    Value* to = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(from, length), end);
    Where(e_, b_.CreateICmpULT(from, to), [&] {
      e_.CountedLoop(from, to, 1, kPollEveryPoints,
                     [&](Value* point) { EmitPoint(site_, point, trips); });
    });
  }

  // --- place

  void EmitPlaces() {
    Value* bucket = site_.thread;
    Where(e_, b_.CreateICmpULT(bucket, Number(site_.kernel.buckets())), [&] {
      llvm::AllocaInst* sum = e_.Alloca(m_.i64, "sum");
      b_.CreateStore(Number(0), sum);
      e_.CountedLoop(Number(0), site_.Of(P::kSegments), 1, 0, [&](Value* segment) {
        Value* count = CountAt(segment, bucket);
        Value* here = b_.CreateLoad(m_.i64, count);
        Value* before = b_.CreateLoad(m_.i64, sum);
        b_.CreateStore(before, count);
        b_.CreateStore(b_.CreateAdd(before, here), sum);
      });
      b_.CreateStore(b_.CreateLoad(m_.i64, sum), At(P::kStarts, bucket));
    });
  }

  // --- join

  void EmitJoins() {
    uint32_t first = 0;
    for (size_t k = 0; k < site_.kernel.ordered.size(); ++k) {
      const OrderedTarget& target = site_.kernel.ordered[k];
      Value* local = b_.CreateSub(site_.thread, Number(first));
      Where(e_, b_.CreateICmpULT(local, Number(target.threads())), [&] {
        target.lanes ? JoinLane(target, site_.lanes[k], local) : JoinElements(target, local);
      });
      first += target.threads();
    }
  }

 private:
  Value* Number(uint64_t n) { return b_.getInt64(n); }
  Value* At(P array, Value* index) { return b_.CreateGEP(m_.i64, site_.Of(array), index); }
  Value* CountAt(Value* segment, Value* bucket) {
    return At(P::kCounts,
              b_.CreateAdd(b_.CreateMul(segment, Number(site_.kernel.buckets())), bucket));
  }

  void File(Value* bucket, Value* place, Value* element, loops::Reg term) {
    Value* at = b_.CreateAdd(b_.CreateLoad(m_.i64, At(P::kStarts, bucket)), place);
    b_.CreateStore(element, At(P::kElements, at));
    b_.CreateStore(ToSlot(b_, m_, e_.TypeOf(term), e_.Get(term)), At(P::kTerms, at));
  }

  // body(element, term) for each term of a bucket, in order.
  void ForTerms(const OrderedTarget& target, Value* bucket,
                llvm::function_ref<void(Value*, Value*)> body) {
    Value* from = b_.CreateLoad(m_.i64, At(P::kStarts, bucket));
    Value* to = b_.CreateLoad(m_.i64, At(P::kStarts, b_.CreateAdd(bucket, Number(1))));
    Where(e_, b_.CreateICmpULT(from, to), [&] {
      e_.CountedLoop(from, to, 1, kPollEveryTerms, [&](Value* at) {
        Value* slot = b_.CreateLoad(m_.i64, At(P::kTerms, at));
        body(b_.CreateLoad(m_.i64, At(P::kElements, at)),
             FromSlot(b_, m_, ir::Type::Scalar(e_.Elem(target.into)), slot));
      });
    });
  }

  Value* Joined(const OrderedTarget& target, Value* old, Value* term) {
    if (target.op == ir::Op::Const) return term;
    const DType t = e_.Elem(target.into);
    return EmitOp({m_, b_, {old, term}, t, t, target.op});
  }

  void JoinLane(const OrderedTarget& target, Value* lanes, Value* lane) {
    const ir::Type t = e_.TypeOf(target.into);
    Value* slot = b_.CreateGEP(m_.i64, lanes, lane);
    llvm::AllocaInst* sum = e_.Alloca(m_.TypeOf(t.elem), "lane");
    b_.CreateStore(FromSlot(b_, m_, t, b_.CreateLoad(m_.i64, slot)), sum);
    Value* bucket = b_.CreateAdd(Number(FirstBucket(site_.kernel, target.into)), lane);
    ForTerms(target, bucket, [&](Value*, Value* term) {
      b_.CreateStore(Joined(target, b_.CreateLoad(sum->getAllocatedType(), sum), term), sum);
    });
    b_.CreateStore(ToSlot(b_, m_, t, b_.CreateLoad(sum->getAllocatedType(), sum)), slot);
  }

  // The owners of a bucket walk all of it; each keeps the elements of its own. What is joined waits in a
  // register until the element changes.
  void JoinElements(const OrderedTarget& target, Value* local) {
    Value* owners = Number(loops::kBucketOwners);
    Value* bucket = b_.CreateUDiv(local, owners);
    Value* owner = b_.CreateURem(local, owners);
    llvm::AllocaInst* at = e_.Alloca(m_.i64, "at");
    llvm::AllocaInst* joined = e_.Alloca(m_.TypeOf(e_.Elem(target.into)), "joined");
    Value* none = b_.getInt64(~uint64_t{0});
    b_.CreateStore(none, at);
    const auto value = [&] { return b_.CreateLoad(joined->getAllocatedType(), joined); };
    const auto leave = [&](Value* element) {
      Where(e_, b_.CreateICmpNE(element, none),
            [&] { e_.StoreElement(target.into, element, value()); });
    };
    Value* filed = b_.CreateAdd(Number(FirstBucket(site_.kernel, target.into)), bucket);
    ForTerms(target, filed, [&](Value* element, Value* term) {
      Value* mine = b_.CreateURem(b_.CreateUDiv(element, Number(loops::kScatterBuckets)), owners);
      Where(e_, b_.CreateICmpEQ(mine, owner), [&] {
        Value* old = b_.CreateLoad(m_.i64, at);
        Where(e_, b_.CreateICmpNE(old, element), [&] {
          leave(old);
          b_.CreateStore(e_.LoadElement(target.into, element), joined);
          b_.CreateStore(element, at);
        });
        b_.CreateStore(Joined(target, value(), term), joined);
      });
    });
    leave(b_.CreateLoad(m_.i64, at));
  }

  KernelSite& site_;
  FunctionEmitter& e_;
  ModuleEmitter& m_;
  llvm::IRBuilder<>& b_;
};

}  // namespace

void EmitOrderedStep(KernelSite& site, Step step) {
  OrderedEmitter emitter(site);
  switch (step) {
    case Step::kOnly: PB_CHECK(false);
    case Step::kCount: return emitter.EmitSegment(/*make=*/false);
    case Step::kPlace: return emitter.EmitPlaces();
    case Step::kMake: return emitter.EmitSegment(/*make=*/true);
    case Step::kJoin: return emitter.EmitJoins();
  }
}

}  // namespace pullback::jit
