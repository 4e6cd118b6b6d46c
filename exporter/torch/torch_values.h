// PyTorch's values as the runtime's, and back: the one place where both are known.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <map>
#include <string>
#include <vector>

#include "base/runtime_error.h"
#include "rushlight/rushlight.h"

namespace rush {

// A rush_print_fn: to where TorchScript prints, which is sys.stdout in Python, standard output in
// C++. Its exceptions do not pass through the runtime: call rethrow_print() after the run.
void print_as_torch(void *, const char *text, size_t size);
void rethrow_print();

// The values of one call, released together. Throws RuntimeError, and std::invalid_argument for
// values that the runtime cannot represent.
//
// Arguments are copied in: what their tensors reach, once, so that tensors of one dtype that share
// memory in PyTorch do so in the program. Lists and dicts remain copies.
class Values {
 public:
  Values(rush_ctx *ctx, rush_session *session) : ctx_(ctx), session_(session) {}
  ~Values();
  Values(const Values &) = delete;
  Values &operator=(const Values &) = delete;

  // Once, before the others.
  std::vector<rush_value> arguments(const std::vector<c10::IValue> &args);

  // Copies back what the program wrote into its arguments; memory that it did not change is not
  // touched.
  void write_back();

  // Takes over `value` and returns it as PyTorch's. Its tensors that share memory do so afterwards;
  // with `alias` also with the arguments. `type` (may be NULL) decides the item types of lists and
  // dicts.
  c10::IValue result(rush_value value, const c10::TypePtr &type, bool alias);

  // Copies of the attributes that the program writes, in the model's order: one tuple, so that what
  // they share stays shared.
  c10::IValue attributes(const rush_model *model);

  // Returns a value to pass on, like an argument.
  rush_value make(const c10::IValue &value);

 private:
  // Memory that both sides have: `bytes` from `theirs` in the runtime and `ours` in `tensors`'
  // storage.
  struct Shared {
    rush_value base;  // its header is never the program's
    char *theirs, *ours;
    size_t bytes;
    bool compact;                     // one tensor, contiguous in the runtime
    std::vector<at::Tensor> tensors;  // with headers of our own
    const void *storage;              // the memory of their storage, as it was before the run
    bool same = true;                 // after write_back: all that both have is equal
    // Returns whether the caller's storage still is what it was: its owner may have been called meanwhile.
    bool unmoved() const;
    // Returns whether all of the memory belongs to elements of one tensor.
    bool dense() const;
  };
  // Memory of results.
  struct Region {
    const char *begin, *end;
    at::Storage storage;
    size_t offset;  // of `begin`, in bytes
  };

  void check(rush_status status) const;
  rush_value own(rush_value value);
  void take(const c10::IValue &value, std::vector<at::Tensor> *out);
  void share(std::vector<at::Tensor> tensors);
  void share_one(const std::vector<at::Tensor> &tensors, char *begin, size_t bytes);
  void fill_base(Shared *s);
  template <class Create>
  rush_value container(const c10::ArrayRef<c10::IValue> &items, Create create);
  // Values that are shared, or that contain themselves, could be endless as plain values.
  static constexpr int kDeepest = 1000;
  static constexpr size_t kMostValues = size_t{1} << 24;
  void take_one(int depth);
  void find_regions(const rush_value &value, std::vector<Region> *out, int depth);
  c10::IValue read(const rush_value &value, const c10::TypePtr &type);
  c10::IValue read_items(const rush_value &value, c10::TypePtr type);
  at::Tensor read_tensor(const rush_value &value);

  rush_ctx *ctx_;
  rush_session *session_;
  std::vector<rush_value> owned_;
  std::vector<Shared> shared_;
  std::map<const void *, rush_value> made_;  // by TensorImpl
  std::vector<at::Tensor> kept_;             // so that made_'s keys stay theirs
  std::vector<Region> regions_;
  size_t read_ = 0;  // values of the result
};

// Returns a type as rush_model_describe prints it: "Dict(str, Tensor[])"; Any for what is not
// understood.
c10::TypePtr described_type(const std::string &text);

}  // namespace rush
