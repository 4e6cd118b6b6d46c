// Converts PyTorch's types and values to ours, and values back.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "ir/const.h"

namespace rush {

TypeRef from_c10(const c10::TypePtr &type);

// Whether the program defines this class: it is neither a module nor a C++ class.
bool is_program_class(const c10::TypePtr &type);

// Throws std::invalid_argument for values that are not data (modules, objects of classes in C++,
// ...).
Const from_ivalue(const c10::IValue &value);

// Throws Unsupported for a tensor without bytes, as of torch._subclasses or inside of a transform
// of torch.func.
void refuse_fake(const at::Tensor &tensor);

// The tensor on the same memory without its autograd history, and back. Memory of our own is copied
// once for each storage.
Tensor from_torch(const at::Tensor &tensor);
at::Tensor to_torch(const Tensor &tensor);

// Lists of ints, floats, bools and tensors become typed lists; tuples keep the names of their type.
c10::IValue to_ivalue(const Const &value);
// The same for a known type: lists get the type of their items, tuples their names.
c10::IValue to_ivalue(const Const &value, const c10::TypePtr &type);

}  // namespace rush
