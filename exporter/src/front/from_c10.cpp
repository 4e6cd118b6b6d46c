#include "front/from_c10.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <stdexcept>

#include "ir/unsupported.h"

namespace rush {

namespace {

std::vector<TypeRef> contained(const c10::Type &type) {
  std::vector<TypeRef> out;
  for (const auto &t : type.containedTypes()) out.push_back(from_c10(t));
  return out;
}

TypeRef named_tuple(const c10::TupleType &type) {
  std::string name;
  std::vector<std::string> fields;
  if (type.schema()) {
    name = type.name() ? type.name()->name() : "NamedTuple";
    for (const auto &arg : type.schema()->arguments()) fields.push_back(arg.name());
  }
  return make_type(RUSH_TYPE_TUPLE, contained(type), name, fields);
}

// Only the names of attributes are kept: a node that reads one knows its type.
TypeRef class_type(const c10::ClassType &type) {
  std::vector<std::string> attributes;
  for (const auto &attribute : type.getAttributes()) attributes.push_back(attribute.getName());
  return make_type(RUSH_TYPE_OBJECT, {}, type.annotation_str(), attributes);
}

// The kind of a type without inner types and names; RUSH_TYPE_ANY for all others.
rush_type_kind simple_kind(c10::TypeKind kind) {
  using Kind = c10::TypeKind;
  switch (kind) {
    case Kind::NoneType:
      return RUSH_TYPE_NONE;
    case Kind::TensorType:
      return RUSH_TYPE_TENSOR;
    case Kind::IntType:
    case Kind::SymIntType:
    case Kind::ScalarTypeType:
    case Kind::LayoutType:
    case Kind::MemoryFormatType:
      return RUSH_TYPE_INT;
    case Kind::FloatType:
    case Kind::SymFloatType:
      return RUSH_TYPE_FLOAT;
    case Kind::BoolType:
    case Kind::SymBoolType:
      return RUSH_TYPE_BOOL;
    case Kind::ComplexType:
      return RUSH_TYPE_COMPLEX;
    case Kind::StringType:
      return RUSH_TYPE_STR;
    case Kind::NumberType:
      return RUSH_TYPE_NUMBER;
    case Kind::DeviceObjType:
      return RUSH_TYPE_DEVICE;
    case Kind::GeneratorType:
      return RUSH_TYPE_GENERATOR;
    default:
      return RUSH_TYPE_ANY;  // type variables of schemas, Any, streams, ...
  }
}

}  // namespace

TypeRef from_c10(const c10::TypePtr &type) {
  using Kind = c10::TypeKind;
  switch (type->kind()) {
    case Kind::ListType:
      return make_type(RUSH_TYPE_LIST, contained(*type));
    case Kind::AnyListType:
      return make_type(RUSH_TYPE_LIST, {make_type(RUSH_TYPE_ANY)});
    case Kind::DictType:
      return make_type(RUSH_TYPE_DICT, contained(*type));
    case Kind::OptionalType:
      return make_type(RUSH_TYPE_OPTIONAL, contained(*type));
    case Kind::UnionType:
      return make_type(RUSH_TYPE_UNION, contained(*type));
    case Kind::FutureType:  // forked code runs in place: a future is its value
    case Kind::AwaitType:
      return from_c10(type->containedType(0));
    case Kind::TupleType:
      return named_tuple(type->expectRef<c10::TupleType>());
    case Kind::ClassType:
      return class_type(type->expectRef<c10::ClassType>());
    case Kind::InterfaceType:
      return make_type(RUSH_TYPE_OBJECT, {}, type->annotation_str());
    case Kind::EnumType:
      return make_type(RUSH_TYPE_ENUM, {}, type->annotation_str());
    default:
      return make_type(simple_kind(type->kind()));
  }
}

bool is_program_class(const c10::TypePtr &type) {
  const auto c = type->cast<c10::ClassType>();
  return c && !c->is_module() && c->annotation_str().find(".torch.classes.") == std::string::npos;
}

namespace {

Const from_enum(const c10::ivalue::EnumHolder &value) {
  Const c;
  c.kind = RUSH_CONST_ENUM;
  c.type = from_c10(value.type());
  c.items = {const_str(value.qualifiedClassName() + "." + value.name()),
             from_ivalue(value.value())};
  return c;
}

Const from_object(const c10::ivalue::Object &object) {
  static thread_local int depth = 0;
  const c10::ClassTypePtr type = object.type();
  if (type->annotation_str().find(".torch.classes.rushlight.") != std::string::npos)
    throw Unsupported(
        "a part of this model was lowered already (rushlight.lower): export the original model");
  if (!is_program_class(type))
    throw Unsupported("an object of " + type->annotation_str() + " cannot be stored");
  if (depth > RUSH_MAX_NESTING)
    throw Unsupported("objects of " + type->annotation_str() +
                      " that hold each other in a circle cannot be stored");
  Const c;
  c.kind = RUSH_CONST_OBJECT;
  c.type = from_c10(type);
  depth++;
  try {
    for (size_t i = 0; i < type->numAttributes(); i++)
      c.items.push_back(from_ivalue(object.getSlot(i)));
  } catch (...) {
    depth--;
    throw;
  }
  depth--;
  return c;
}

}  // namespace

void refuse_fake(const at::Tensor &t) {
  if (!t.device().is_cpu() || t.layout() != at::kStrided) return;
  if (t.has_storage() ? t.nbytes() == 0 || t.storage().data() : t.numel() == 0) return;
  throw Unsupported(
      "the model holds a fake tensor, which has no values: make the model again, because a failed "
      "torch.export or a transform of torch.func left the tensor so. If the tensor is made of "
      "others, "
      "as in weights that torchao or quanto quantized, call "
      "torchao.utils.unwrap_tensor_subclass, or export the original model with quantize=\"int8\"");
}

namespace {

// Functorch's tensors have no storage, fake tensors and zero tensors no memory, and a storage may have
// been made smaller.
bool holds_elements(const at::Tensor &t) {
  if (!t.has_storage()) return false;
  if (t.numel() == 0) return true;
  int64_t last = t.storage_offset();
  for (int64_t d = 0; d < t.dim(); d++) last += (t.size(d) - 1) * t.stride(d);
  return (static_cast<size_t>(last) + 1) * t.itemsize() <= t.storage().nbytes() &&
         t.const_data_ptr();
}

Foreign foreign_of(const at::Tensor &t) {
  Foreign out;
  out.form = t.is_nested()                ? "nested"
             : t.is_mkldnn()              ? "mkldnn"
             : t.layout() != at::kStrided ? "sparse"
             : t.is_quantized()           ? "quantized"
                                          : "";
  if (!t.device().is_cpu()) out.device = t.device().str();
  out.no_memory = out.form.empty() && out.device.empty() && !holds_elements(t);
  out.object = std::make_shared<const at::Tensor>(t);
  return out;
}

}  // namespace

Tensor from_torch(const at::Tensor &given) {
  if (!given.defined()) return {};
  const auto dtype = static_cast<rush_dtype>(given.scalar_type());
  Foreign foreign = foreign_of(given);
  if (!foreign.form.empty() || !foreign.device.empty() || foreign.no_memory)
    return {dtype, given.is_nested() ? Sizes() : given.sizes().vec(), std::move(foreign)};
  // The bytes of lazily conjugated or negated tensors are not their values.
  const at::Tensor t = given.detach().resolve_conj().resolve_neg();
  auto owner = std::make_shared<const at::Storage>(t.storage());
  Storage storage{const_cast<void *>(owner->data()), owner->nbytes(), owner,
                  owner->unsafeGetStorageImpl(), owner};
  return {dtype, t.sizes().vec(), t.strides().vec(), t.storage_offset(),
          std::make_shared<const Storage>(std::move(storage))};
}

at::Tensor to_torch(const Tensor &tensor) {
  if (!tensor.defined()) return {};
  if (!tensor.is_strided()) return *static_cast<const at::Tensor *>(tensor.foreign().object.get());
  const Storage &storage = *tensor.storage();
  if (!storage.torch) {
    // A copy, as PyTorch resizes only memory of its own.
    const at::Tensor bytes = at::empty({static_cast<int64_t>(storage.bytes)}, at::kByte);
    if (storage.bytes) std::memcpy(bytes.data_ptr(), storage.data, storage.bytes);
    storage.torch = std::make_shared<const at::Storage>(bytes.storage());
  }
  return at::empty({0}, at::TensorOptions().dtype(static_cast<at::ScalarType>(tensor.dtype())))
      .set_(*static_cast<const at::Storage *>(storage.torch.get()), tensor.storage_offset(),
            tensor.sizes(), tensor.strides());
}

namespace {

Const from_list(const c10::IValue &value) {
  Const c;
  c.kind = RUSH_CONST_LIST;
  for (const c10::IValue &item : value.toListRef()) c.items.push_back(from_ivalue(item));
  c.type = list_of(from_c10(value.toList().elementType()));
  return c;
}

Const from_tuple(const c10::IValue &value) {
  Const c;
  c.kind = RUSH_CONST_TUPLE;
  for (const c10::IValue &item : value.toTupleRef().elements())
    c.items.push_back(from_ivalue(item));
  c.type = from_c10(value.type());
  return c;
}

Const from_dict(const c10::IValue &value) {
  Const c;
  c.kind = RUSH_CONST_DICT;
  const auto dict = value.toGenericDict();
  for (const auto &entry : dict) {
    c.items.push_back(from_ivalue(entry.key()));
    c.items.push_back(from_ivalue(entry.value()));
  }
  c.type = make_type(RUSH_TYPE_DICT, {from_c10(dict.keyType()), from_c10(dict.valueType())});
  return c;
}

}  // namespace

Const from_ivalue(const c10::IValue &value) {
  Const c;
  if (value.isNone()) return const_none();
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return const_none();
    refuse_fake(value.toTensor());
    return const_tensor(from_torch(value.toTensor()));
  }
  if (value.isBool()) return const_bool(value.toBool());
  if (value.isInt()) return const_int(value.toInt());
  if (value.isDouble()) return const_float(value.toDouble());
  if (value.isString()) return const_str(value.toStringRef());
  if (value.isSymInt()) return const_int(value.toSymInt().expect_int());
  if (value.isComplexDouble()) {
    c.kind = RUSH_CONST_COMPLEX;
    c.f = value.toComplexDouble().real();
    c.im = value.toComplexDouble().imag();
    return c;
  }
  if (value.isDevice()) {
    c = const_str(value.toDevice().str());
    c.kind = RUSH_CONST_DEVICE;
    return c;
  }
  if (value.isList()) return from_list(value);
  if (value.isTuple()) return from_tuple(value);
  if (value.isGenericDict()) return from_dict(value);
  if (value.isEnum()) return from_enum(*value.toEnumHolder());
  if (value.isObject()) return from_object(value.toObjectRef());
  if (value.isGenerator())
    throw Unsupported(
        "the model draws from a random number generator of its own, which a file cannot hold: "
        "leave "
        "`generator` out, and seed the session with manual_seed");
  throw Unsupported("a value of type " + value.type()->annotation_str() + " cannot be stored");
}

namespace {

c10::TypePtr to_c10(const Type &type) {
  switch (type.kind) {
    case RUSH_TYPE_TENSOR:
      return c10::TensorType::get();
    case RUSH_TYPE_INT:
      return c10::IntType::get();
    case RUSH_TYPE_FLOAT:
      return c10::FloatType::get();
    case RUSH_TYPE_BOOL:
      return c10::BoolType::get();
    case RUSH_TYPE_COMPLEX:
      return c10::ComplexType::get();
    case RUSH_TYPE_STR:
      return c10::StringType::get();
    case RUSH_TYPE_LIST:
      return c10::ListType::create(to_c10(*type.items[0]));
    case RUSH_TYPE_OPTIONAL:
      return c10::OptionalType::create(to_c10(*type.items[0]));
    case RUSH_TYPE_DICT:
      return c10::DictType::create(to_c10(*type.items[0]), to_c10(*type.items[1]));
    case RUSH_TYPE_TUPLE: {
      std::vector<c10::TypePtr> items;
      for (const TypeRef &item : type.items) items.push_back(to_c10(*item));
      if (!type.fields.empty())
        return c10::TupleType::createNamed(c10::QualifiedName(type.name), type.fields, items);
      return c10::TupleType::create(std::move(items));
    }
    default:
      return c10::AnyType::get();
  }
}

c10::IValue to_list(const Const &value) {
  c10::impl::GenericList list(to_c10(*value.type->items[0]));
  for (const Const &item : value.items) list.push_back(to_ivalue(item));
  return list;
}

c10::IValue to_tuple(const Const &value) {
  std::vector<c10::IValue> items;
  for (const Const &item : value.items) items.push_back(to_ivalue(item));
  if (value.type->fields.empty()) return c10::ivalue::Tuple::create(std::move(items));
  return c10::ivalue::Tuple::createNamed(std::move(items),
                                         to_c10(*value.type)->cast<c10::TupleType>());
}

c10::IValue to_dict(const Const &value) {
  c10::impl::GenericDict dict(to_c10(*value.type->items[0]), to_c10(*value.type->items[1]));
  for (size_t i = 0; i + 1 < value.items.size(); i += 2)
    dict.insert(to_ivalue(value.items[i]), to_ivalue(value.items[i + 1]));
  return dict;
}

}  // namespace

c10::IValue to_ivalue(const Const &value) {
  switch (value.kind) {
    case RUSH_CONST_NONE:
      return {};
    case RUSH_CONST_TENSOR:
    case RUSH_CONST_RANDOM:
      return to_torch(value.tensor);
    case RUSH_CONST_INT:
      return value.i;
    case RUSH_CONST_FLOAT:
      return value.f;
    case RUSH_CONST_BOOL:
      return value.i != 0;
    case RUSH_CONST_COMPLEX:
      return c10::complex<double>(value.f, value.im);
    case RUSH_CONST_STR:
      return value.s;
    case RUSH_CONST_DEVICE:
      return c10::Device(value.s);
    case RUSH_CONST_LIST:
      return to_list(value);
    case RUSH_CONST_TUPLE:
      return to_tuple(value);
    case RUSH_CONST_DICT:
      return to_dict(value);
    case RUSH_CONST_OBJECT:
    case RUSH_CONST_ENUM:
      throw std::invalid_argument("a value of type " + to_string(*value.type) +
                                  " cannot be passed to PyTorch");
  }
  return {};
}

c10::IValue to_ivalue(const Const &value, const c10::TypePtr &type) {
  if (type->kind() == c10::TypeKind::OptionalType && !value.is_none())
    return to_ivalue(value, type->containedType(0));
  if (value.is_list() && type->kind() == c10::TypeKind::ListType) {
    c10::impl::GenericList list(type->containedType(0));
    for (const Const &item : value.items) list.push_back(to_ivalue(item, type->containedType(0)));
    return list;
  }
  if (value.kind == RUSH_CONST_DICT && type->kind() == c10::TypeKind::DictType) {
    const c10::TypePtr &key = type->containedType(0), &item = type->containedType(1);
    c10::impl::GenericDict dict(key, item);
    for (size_t i = 0; i + 1 < value.items.size(); i += 2)
      dict.insert(to_ivalue(value.items[i], key), to_ivalue(value.items[i + 1], item));
    return dict;
  }
  if (value.kind == RUSH_CONST_TUPLE && type->kind() == c10::TypeKind::TupleType &&
      value.items.size() == type->containedTypeSize()) {
    std::vector<c10::IValue> items;
    for (size_t i = 0; i < value.items.size(); i++)
      items.push_back(to_ivalue(value.items[i], type->containedType(i)));
    return c10::ivalue::Tuple::createNamed(std::move(items), type->cast<c10::TupleType>());
  }
  return to_ivalue(value);
}

}  // namespace rush
