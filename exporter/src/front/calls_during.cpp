// Records the operators that PyTorch calls.
#include <ATen/core/Tensor.h>
#include <ATen/ops/clone.h>
#include <ATen/record_function.h>

#include <utility>

#include "front/from_c10.h"
#include "front/reference.h"

namespace rush {

namespace {

// Keeps the arguments of outermost operators.
struct Recorder {
  bool (*wanted)(const std::string &op);
  std::vector<OperatorCall> calls;
  size_t depth = 0;

  void call(const at::RecordFunction &function) {
    OperatorCall out;
    out.op = function.name();
    if (!wanted(out.op)) return;
    for (const c10::IValue &given : function.inputs()) {
      if (given.isTensor()) out.tensors.push_back(copy_of(given.toTensor()));
      if (!given.isList()) continue;
      out.indices = out.tensors.size();
      for (const c10::IValue &item : given.toListRef())
        if (item.isTensor()) out.tensors.push_back(copy_of(item.toTensor()));
    }
    calls.push_back(std::move(out));
  }

 private:
  static Tensor copy_of(const at::Tensor &t) {
    return t.defined() ? from_torch(t.detach().clone()) : Tensor();
  }
};
thread_local Recorder *recorder = nullptr;

std::unique_ptr<at::ObserverContext> begin_call(const at::RecordFunction &function) {
  if (recorder && recorder->depth++ == 0) {
    Recorder *const kept = std::exchange(recorder, nullptr);  // its own calls do not count
    kept->call(function);
    recorder = kept;
  }
  return nullptr;
}

void end_call(const at::RecordFunction &, at::ObserverContext *) {
  if (recorder) recorder->depth--;
}

struct Recording {
  explicit Recording(Recorder *to)
      : handle(at::addThreadLocalCallback(at::RecordFunctionCallback(begin_call, end_call)
                                              .needsInputs(true)
                                              .scopes({at::RecordScope::FUNCTION}))) {
    recorder = to;
  }
  ~Recording() {
    recorder = nullptr;
    at::removeCallback(handle);
  }
  Recording(const Recording &) = delete;

  at::CallbackHandle handle;
};

}  // namespace

std::vector<OperatorCall> calls_during(const std::function<void()> &run,
                                       bool (*wanted)(const std::string &op)) {
  Recorder kept{wanted, {}};
  const Recording recording(&kept);
  run();
  return std::move(kept.calls);
}

}  // namespace rush
