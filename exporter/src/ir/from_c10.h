// PyTorch's types and values as ours, and values back.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include "ir/const.h"

namespace rush {

TypeRef from_c10(const c10::TypePtr &type);

// Throws std::invalid_argument for values that are not data (objects, futures, ...).
Const from_ivalue(const c10::IValue &value);

// Lists of ints, floats, bools and tensors become c10's typed lists; tuples lose their field names.
c10::IValue to_ivalue(const Const &value);

}  // namespace rush
