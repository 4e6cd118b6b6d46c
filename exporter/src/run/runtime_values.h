// Constants as values of the runtime, and back.
#pragma once

#include <map>
#include <vector>

#include "ir/const.h"
#include "rushlight/rushlight.h"

namespace rush {

// The values of one call, released together. Throws RuntimeError, and std::invalid_argument for
// values that the runtime does not have.
//
// Arguments are copied. Tensors of one dtype that share memory share memory in the copy, too.
class RuntimeValues {
 public:
  RuntimeValues(rush_ctx *ctx, rush_session *session) : ctx_(ctx), session_(session) {}
  ~RuntimeValues();
  RuntimeValues(const RuntimeValues &) = delete;

  // Must be called once, before the other functions.
  std::vector<rush_value> arguments(const std::vector<Const> &args);
  // Returns a value to pass on, like an argument.
  rush_value make(const Const &value);
  // Takes over `value` and returns a copy. Tensors that share memory share memory in the copy, too.
  Const result(rush_value value);
  // Copies of the attributes that the program writes, in the model's order: one tuple, so that they
  // share memory as before.
  Const attributes(const rush_model *model);

 private:
  // Memory of results.
  struct Region {
    const char *begin, *end;
    std::shared_ptr<const Storage> storage;
  };
  struct Shared {
    Tensor tensor;
    rush_value value;
  };

  void check(rush_status status) const;
  rush_value adopt(rush_value value);
  void share(std::vector<Tensor> tensors);
  void share_group(const std::vector<Tensor> &tensors, const char *begin, size_t bytes);
  rush_value container(const Const &value);
  // Values that are shared in the program, or that contain themselves, have no end if they are
  // written out.
  static constexpr int kDeepest = 1000;
  static constexpr size_t kMostValues = size_t{1} << 24;
  void take_one(int depth);
  void find_regions(const rush_value &value, std::vector<Region> *out, int depth);
  void join_regions(std::vector<Region> found);
  Const read(const rush_value &value);
  Const read_items(const rush_value &value);
  Tensor read_tensor(const rush_value &value);

  rush_ctx *ctx_;
  rush_session *session_;
  std::vector<rush_value> owned_;
  std::vector<Shared> shared_;
  std::vector<Region> regions_;
  size_t read_ = 0;  // values of the result
};

}  // namespace rush
