#include <ATen/ops/empty.h>

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
  at::Tensor tensor(const at::Tensor &t) {
    if (!t.has_storage() || t.layout() != at::kStrided || t.is_quantized()) return t.clone();
    const void *key = t.storage().unsafeGetStorageImpl();
    auto found = bytes_.find(key);
    if (found == bytes_.end()) {
      const size_t n = t.storage().nbytes();
      at::Tensor bytes = at::empty({static_cast<int64_t>(n)}, at::kByte);
      if (n) std::memcpy(bytes.data_ptr(), t.storage().data(), n);
      found = bytes_.emplace(key, bytes).first;
    }
    return at::empty({0}, t.options())
        .set_(found->second.storage(), t.storage_offset(), t.sizes(), t.strides());
  }
  std::map<const void *, at::Tensor> bytes_;
};

}  // namespace

std::vector<Const> snapshot(const std::vector<Const> &values) {
  Snapshot copies;
  std::vector<Const> out;
  for (const Const &v : values) out.push_back(copies.copy(v));
  return out;
}

}  // namespace rush
