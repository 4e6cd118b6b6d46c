#include <cstring>
#include <map>

#include "ir/const.h"

namespace rush {

namespace {

class Snapshot {
 public:
  Const copy(const Const &value) {
    Const out = value;
    if (value.tensor.defined()) out.tensor = tensor(value.tensor);
    for (Const &item : out.items) item = copy(item);
    return out;
  }

 private:
  // PyTorch's own tensors stay, as nothing here writes them.
  Tensor tensor(const Tensor &t) {
    if (!t.is_strided()) return t;
    auto found = copies_.find(t.storage_id());
    if (found == copies_.end()) {
      const Storage &from = *t.storage();
      const Tensor bytes =
          Tensor::copy_of(RUSH_UINT8, {static_cast<int64_t>(from.bytes)}, from.data);
      found = copies_.emplace(t.storage_id(), bytes.storage()).first;
    }
    return {t.dtype(), t.sizes(), t.strides(), t.storage_offset(), found->second};
  }
  std::map<const void *, std::shared_ptr<const Storage>> copies_;
};

}  // namespace

std::vector<Const> snapshot(const std::vector<Const> &values) {
  Snapshot copies;
  std::vector<Const> out;
  for (const Const &v : values) out.push_back(copies.copy(v));
  return out;
}

}  // namespace rush
