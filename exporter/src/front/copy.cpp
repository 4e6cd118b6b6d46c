// A copy of a module whose tensors share memory where the module's do. Module::deepcopy() gives
// each tensor a storage of its own, so that an attribute that is a view of another stops being one.
#include <ATen/ops/empty.h>

#include <map>

#include "front/torchscript.h"

namespace rush {

torch::jit::Module copy_of(const torch::jit::Module &module) {
  std::map<const void *, std::vector<at::Tensor>> storages;
  c10::IValue::HashAliasedIValues seen;
  c10::IValue(module._ivalue()).visit([&](const c10::IValue &v) {
    if (v.isTensor() && v.toTensor().defined() && v.toTensor().layout() == at::kStrided &&
        v.toTensor().has_storage())
      storages[v.toTensor().storage().unsafeGetStorageImpl()].push_back(v.toTensor());
    if (v.isTensor()) return true;
    return !seen.insert(v).second;
  });
  c10::IValue::HashIdentityIValueMap memo;
  for (const auto &[impl, tensors] : storages) {
    const at::Tensor &first = tensors[0];
    if (tensors.size() == 1 || first.is_quantized()) continue;
    const int64_t bytes = static_cast<int64_t>(first.storage().nbytes());
    at::Tensor all = at::empty({bytes}, at::kByte);
    all.copy_(at::empty({0}, at::kByte).set_(first.storage(), 0, {bytes}, {1}));
    for (const at::Tensor &t : tensors) {
      at::Tensor copy = at::empty({0}, t.options());
      copy.set_(all.storage(), t.storage_offset(), t.sizes(), t.strides());
      copy.set_requires_grad(t.requires_grad());
      memo.emplace(t, copy);
    }
  }
  return torch::jit::Module(module._ivalue()->deepcopy(memo));
}

}  // namespace rush
