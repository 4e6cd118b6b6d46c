#include "python/values.h"

#include <torch/csrc/Dtype.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>

#include <algorithm>
#include <optional>

#include "front/from_c10.h"

namespace rush {

namespace {

// The children of an object of a class that is registered as a pytree, as in torch.export.
std::optional<py::tuple> parts_of(py::handle value) {
  const py::dict known = py::module_::import("torch.utils._pytree").attr("SUPPORTED_NODES");
  const py::handle type = reinterpret_cast<PyObject *>(Py_TYPE(value.ptr()));
  if (!known.contains(type)) return std::nullopt;
  const py::tuple flat = known[type].attr("flatten_fn")(value);
  return py::tuple(flat[0]);
}

Const from_sequence(py::handle value) {
  Const c;
  c.kind = RUSH_CONST_LIST;
  c.type = list_of(make_type(RUSH_TYPE_ANY));
  for (py::handle item : value) c.items.push_back(from_python(item));
  return c;
}

Const from_tuple(py::handle value) {
  Const c;
  c.kind = RUSH_CONST_TUPLE;
  for (py::handle item : value) c.items.push_back(from_python(item));
  std::vector<TypeRef> types;
  for (const Const &item : c.items) types.push_back(type_of(item));
  c.type = make_type(RUSH_TYPE_TUPLE, std::move(types));
  return c;
}

Const from_dict(py::handle value) {
  Const c;
  const TypeRef any = make_type(RUSH_TYPE_ANY);
  c.kind = RUSH_CONST_DICT;
  c.type = make_type(RUSH_TYPE_DICT, {any, any});
  for (auto item : py::reinterpret_borrow<py::dict>(value)) {
    c.items.push_back(from_python(item.first));
    c.items.push_back(from_python(item.second));
  }
  return c;
}

Const from_complex(py::handle value) {
  const auto z = value.cast<std::complex<double>>();
  Const c;
  c.kind = RUSH_CONST_COMPLEX;
  c.f = z.real();
  c.im = z.imag();
  return c;
}

// A tuple of its fields that are not None, as in torch.export.
py::tuple fields_of_dataclass(py::handle value) {
  py::list fields;
  for (py::handle field : py::module_::import("dataclasses").attr("fields")(value)) {
    const py::object item = value.attr(field.attr("name"));
    if (!item.is_none()) fields.append(item);
  }
  return py::tuple(fields);
}

// Converts a number of another type, such as a NumPy scalar.
Const from_number(py::handle value) {
  return PyIndex_Check(value.ptr())
             ? const_int(py::reinterpret_steal<py::int_>(PyNumber_Index(value.ptr())))
             : const_float(py::float_(py::reinterpret_borrow<py::object>(value)));
}

}  // namespace

Const from_python(py::handle value) {
  PyObject *const object = value.ptr();
  if (value.is_none()) return const_none();
  if (THPVariable_Check(object)) return const_tensor(from_torch(py::cast<at::Tensor>(value)));
  if (PyBool_Check(object)) return const_bool(value.cast<bool>());
  if (PyLong_Check(object)) return const_int(value.cast<int64_t>());
  if (PyFloat_Check(object)) return const_float(value.cast<double>());
  if (PyUnicode_Check(object)) return const_str(value.cast<std::string>());
  if (PyComplex_Check(object)) return from_complex(value);
  if (py::isinstance<py::list>(value) || PyRange_Check(object)) return from_sequence(value);
  if (py::isinstance<py::tuple>(value)) return from_tuple(value);
  if (py::isinstance<py::dict>(value)) return from_dict(value);
  if (THPDtype_Check(object) || THPLayout_Check(object) || THPMemoryFormat_Check(object))
    return const_int(torch::jit::toIValue(value, c10::IntType::get()).toInt());
  if (py::hasattr(value, "__dataclass_fields__")) return from_python(fields_of_dataclass(value));
  if (auto parts = parts_of(value)) return from_python(*parts);
  if (PyNumber_Check(object) && !PySequence_Check(object)) return from_number(value);
  throw py::type_error("a value of type " + std::string(Py_TYPE(object)->tp_name) +
                       " cannot be passed to a model");
}

namespace {

bool wants_fields(const Type &type) {
  return !type.fields.empty() ||
         std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef &item) { return wants_fields(*item); });
}

bool has_field(py::handle value, const std::string &name) {
  return py::isinstance<py::dict>(value) ? value.contains(py::str(name))
                                         : py::hasattr(value, name.c_str());
}

// The value of a field of an object that is no tuple.
py::object field_of(py::handle value, const std::string &name) {
  if (py::isinstance<py::dict>(value)) return value[py::str(name)];
  return value.attr(name.c_str());
}

bool is_sequence(py::handle value) {
  return py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value);
}

// Whether a dict, or a dataclass, has a value that is not None for which the type has no field.
bool has_more(py::handle value, const Type &type) {
  if (py::isinstance<py::dict>(value)) return py::len(value) != type.fields.size();
  if (!py::hasattr(value, "__dataclass_fields__")) return false;
  for (py::handle field : value.attr("__dataclass_fields__")) {
    const bool known = std::find(type.fields.begin(), type.fields.end(),
                                 field.cast<std::string>()) != type.fields.end();
    if (!known && !value.attr(field).is_none()) return true;
  }
  return false;
}

bool can_be_tuple(py::handle value, const Type &type) {
  return type.kind == RUSH_TYPE_TUPLE && type.fields.size() == type.items.size() &&
         (is_sequence(value) ||
          (!has_more(value, type) &&
           std::all_of(type.fields.begin(), type.fields.end(),
                       [&](const std::string &name) { return has_field(value, name); })));
}

py::tuple as_named_tuple(py::handle value, const Type &type) {
  py::list items;
  if (is_sequence(value)) {
    for (py::handle item : value) items.append(item);
  } else {
    for (const std::string &name : type.fields) items.append(field_of(value, name));
  }
  for (size_t i = 0; i < std::min(items.size(), type.items.size()); i++)
    items[i] = as_tuples(items[i], *type.items[i]);
  return py::tuple(items);
}

}  // namespace

py::object as_tuples(py::handle value, const Type &type) {
  const py::object same = py::reinterpret_borrow<py::object>(value);
  if (!wants_fields(type) || value.is_none()) return same;
  if (type.kind == RUSH_TYPE_OPTIONAL) return as_tuples(value, *type.items[0]);
  if (can_be_tuple(value, type)) return as_named_tuple(value, type);
  if (type.kind == RUSH_TYPE_DICT && py::isinstance<py::dict>(value)) {
    py::dict out;
    for (auto item : py::reinterpret_borrow<py::dict>(value))
      out[item.first] = as_tuples(item.second, *type.items[1]);
    return out;
  }
  if (!is_sequence(value) || (type.kind != RUSH_TYPE_LIST && type.kind != RUSH_TYPE_TUPLE))
    return same;
  py::list out;
  for (py::handle item : value) {
    const size_t i = type.kind == RUSH_TYPE_LIST ? 0 : out.size();
    out.append(i < type.items.size() ? as_tuples(item, *type.items[i])
                                     : py::reinterpret_borrow<py::object>(item));
  }
  return py::isinstance<py::tuple>(value) ? py::object(py::tuple(out)) : py::object(out);
}

py::object to_python(const Const &value) {
  return torch::jit::toPyObject(to_ivalue(value));
}

}  // namespace rush
