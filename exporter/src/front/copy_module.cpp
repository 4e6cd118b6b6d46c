// Copies a module so that its tensors share memory as before. Module::deepcopy() gives each tensor a
// storage of its own, so that an attribute is no view of another one any more. Module::clone() gives
// each attribute a module of its own, even if two are one.
#include <ATen/ops/empty.h>

#include <map>

#include "front/from_c10.h"
#include "front/torchscript_parts.h"

namespace rush {

namespace {

bool is_plain(const at::Tensor &t) {
  return t.defined() && t.layout() == at::kStrided && t.has_storage() && !t.is_quantized();
}

// Copies the whole storage of these tensors, in float64 if asked for.
at::Storage copy_of_storage(const std::vector<at::Tensor> &tensors, bool in_double) {
  const at::Tensor &first = tensors[0];
  const at::ScalarType dtype = in_double ? first.scalar_type() : at::kByte;
  for (const at::Tensor &t : tensors)
    if (in_double && t.scalar_type() != dtype)
      throw std::invalid_argument("tensors of several dtypes share memory in it");
  const int64_t n = static_cast<int64_t>(first.storage().nbytes() / at::elementSize(dtype));
  const at::Tensor all = at::empty({0}, first.options().dtype(dtype).requires_grad(false))
                             .set_(first.storage(), 0, {n}, {1});
  return all.to(in_double ? wide(dtype) : dtype, /*non_blocking=*/false, /*copy=*/true).storage();
}

// The memo of deepcopy: maps the tensors inside a value to their copies.
c10::IValue::HashIdentityIValueMap copies_of(const c10::IValue &value, bool in_double) {
  std::map<const void *, std::vector<at::Tensor>> storages;
  c10::IValue::HashAliasedIValues seen;
  value.visit([&](const c10::IValue &v) {
    if (v.isTensor() && v.toTensor().defined()) refuse_fake(v.toTensor());
    if (v.isTensor() && is_plain(v.toTensor()))
      storages[v.toTensor().storage().unsafeGetStorageImpl()].push_back(v.toTensor());
    if (v.isTensor()) return true;
    return !seen.insert(v).second;
  });
  c10::IValue::HashIdentityIValueMap copies;
  for (const auto &[impl, tensors] : storages) {
    if (tensors.size() == 1 && !in_double) continue;
    const at::Storage storage = copy_of_storage(tensors, in_double);
    for (const at::Tensor &t : tensors) {
      const at::ScalarType dtype = in_double ? wide(t.scalar_type()) : t.scalar_type();
      at::Tensor copy = at::empty({0}, t.options().dtype(dtype).requires_grad(false));
      copy.set_(storage, t.storage_offset(), t.sizes(), t.strides());
      copy.set_requires_grad(t.requires_grad());
      copies.emplace(t, copy);
    }
  }
  return copies;
}

using Object = c10::intrusive_ptr<c10::ivalue::Object>;

// Makes attributes of `to` share a module if those of `from` do.
void share_modules(const Object &from, const Object &to, std::map<const void *, Object> *made) {
  for (size_t i = 0; i < from->type()->numAttributes(); i++) {
    const c10::IValue &module = from->getSlot(i);
    if (!module.isModule()) continue;
    auto [at, is_new] = made->emplace(module.toObject().get(), to->getSlot(i).toObject());
    if (is_new)
      share_modules(module.toObject(), at->second, made);
    else
      to->setSlot(i, at->second);
  }
}

}  // namespace

torch::jit::Module of_own_class(const torch::jit::Module &module) {
  torch::jit::Module out = module.clone(/*inplace=*/true);
  std::map<const void *, Object> made{{module._ivalue().get(), out._ivalue()}};
  share_modules(module._ivalue(), out._ivalue(), &made);
  return out;
}

torch::jit::Module copy_of(const torch::jit::Module &module, bool in_double) {
  const c10::IValue self(module._ivalue());
  c10::IValue::HashIdentityIValueMap copies = copies_of(self, in_double);
  return torch::jit::Module(module._ivalue()->deepcopy(copies));
}

c10::IValue in_double(const c10::IValue &value) {
  c10::IValue::HashIdentityIValueMap copies = copies_of(value, true);
  return value.deepcopy(copies);
}

}  // namespace rush
