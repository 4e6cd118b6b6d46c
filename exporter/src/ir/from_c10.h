// PyTorch's types and values as ours, and values back.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "ir/const.h"

namespace rush {

TypeRef from_c10(const c10::TypePtr &type);

// Whether it is a class that the program defines: not a module, nor a class in C++.
bool is_program_class(const c10::TypePtr &type);

// Throws std::invalid_argument for values that are not data (modules, objects of classes in C++,
// ...).
Const from_ivalue(const c10::IValue &value);

// Throws Unsupported for a tensor that has no bytes, of torch._subclasses' or inside of a transform of
// torch.func.
void refuse_fake(const at::Tensor &tensor);

// Lists of ints, floats, bools and tensors become typed lists, tuples of a named type named ones.
c10::IValue to_ivalue(const Const &value);
// The same where the type is known: lists get their items' type, tuples their names.
c10::IValue to_ivalue(const Const &value, const c10::TypePtr &type);

}  // namespace rush
