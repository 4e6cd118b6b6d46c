#include "python/graph_builder.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>

#include <algorithm>

#include "front/from_c10.h"
#include "front/torchscript.h"
#include "ir/alias.h"
#include "ir/schema.h"
#include "ir/unsupported.h"

namespace rush {

namespace {

bool is_value(py::handle value) {
  return py::isinstance<Value>(value);
}

// The number of a dtype, as in schemas. Throws if it is not supported.
Const dtype_constant(at::ScalarType dtype) {
  if (!find_dtype(dtype_name(static_cast<rush_dtype>(dtype))))
    throw Unsupported("torch." + std::string(c10::toString(dtype)) + " cannot be exported");
  return const_int(static_cast<int64_t>(dtype));
}

bool holds_tensors(const Type &type) {
  return type.kind == RUSH_TYPE_TENSOR ||
         std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef &item) { return holds_tensors(*item); });
}

}  // namespace

// ---- operands

// Converts a constant, also one that schemas have as a number or a str.
Const GraphBuilder::plain(py::handle value) const {
  PyObject *object = value.ptr();
  if (THPDtype_Check(object))
    return dtype_constant(reinterpret_cast<THPDtype *>(object)->scalar_type);
  if (THPLayout_Check(object))
    return const_int(static_cast<int64_t>(reinterpret_cast<THPLayout *>(object)->layout));
  if (THPMemoryFormat_Check(object))
    return const_int(
        static_cast<int64_t>(reinterpret_cast<THPMemoryFormat *>(object)->memory_format));
  if (THPDevice_Check(object)) {
    Const c = const_str(reinterpret_cast<THPDevice *>(object)->device.str());
    c.kind = RUSH_CONST_DEVICE;
    return c;
  }
  try {
    return from_python(value);
  } catch (const py::type_error &) {
    throw Unsupported("a constant of type " + std::string(Py_TYPE(object)->tp_name) +
                      " cannot be exported");
  }
}

Value *GraphBuilder::operand(py::handle value) {
  if (is_value(value)) return value.cast<Value *>();
  if (THPVariable_Check(value.ptr())) return attribute("", py::cast<at::Tensor>(value));
  return constant(value);
}

Value *GraphBuilder::operand(py::handle value, const TypeRef &type, int64_t repeat) {
  if (type->kind == RUSH_TYPE_OPTIONAL)
    return value.is_none() ? constant(value) : operand(value, type->items[0], repeat);
  if (type->kind == RUSH_TYPE_LIST && !is_value(value)) return list_operand(value, type, repeat);
  return cast(operand(value), *type);
}

// A list value, or one value for each of its items.
Value *GraphBuilder::list_operand(py::handle value, const TypeRef &type, int64_t repeat) {
  std::vector<Value *> items;
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value))
    for (py::handle item : value) items.push_back(operand(item, type->items[0], 1));
  else
    for (int64_t i = 0; i < repeat; i++) items.push_back(operand(value, type->items[0], 1));
  const bool constant =
      std::all_of(items.begin(), items.end(), [](const Value *v) { return v->is_constant(); });
  if (!constant || holds_tensors(*type)) return append("prim::ListConstruct", items, type);
  std::vector<Const> constants;
  for (const Value *item : items) constants.push_back(*item->constant);
  return graph_->constant(const_list(type->items[0], std::move(constants)));
}

// Converts a number to the type of the schema.
Value *GraphBuilder::cast(Value *value, const Type &type) {
  const rush_type_kind from = value->type->kind;
  const bool whole = type.kind == RUSH_TYPE_FLOAT && from == RUSH_TYPE_INT;
  if (whole && value->is_constant())
    return graph_->constant(const_float(value->constant->number()));
  if (from != RUSH_TYPE_NUMBER && !whole) return value;
  if (type.kind == RUSH_TYPE_FLOAT)
    return append("aten::Float.Scalar", {value}, make_type(RUSH_TYPE_FLOAT));
  if (type.kind == RUSH_TYPE_INT)
    return append("aten::Int.Scalar", {value}, make_type(RUSH_TYPE_INT));
  return value;
}

// ---- nodes

Node *GraphBuilder::append(const std::string &op) {
  Node *node = blocks_.back()->append(op);
  node->source = at_;
  unmarked_.insert(node);
  return node;
}

Value *GraphBuilder::append(const std::string &op, std::vector<Value *> inputs, TypeRef type) {
  Node *node = append(op);
  for (Value *v : inputs) node->add_input(v);
  return node->add_output(std::move(type));
}

py::object GraphBuilder::results_of(Node *node) {
  py::list out;
  for (Value *v : node->outputs) out.append(py::cast(v, py::return_value_policy::reference));
  return out.size() == 1 ? py::object(out[0]) : py::object(out);
}

py::object GraphBuilder::node(const std::string &op, const py::list &args, const py::object &types,
                              const std::string &name) {
  const Schema *schema = schema_of(for_any_dtype(op));
  std::vector<Value *> inputs;
  for (py::handle a : args) {
    const size_t i = inputs.size();
    const bool told = schema && !schema->variadic && i < schema->args.size();
    inputs.push_back(told ? operand(a, schema->args[i].type, schema->args[i].repeat.value_or(1))
                          : operand(a));
  }
  Node *node = append(op);
  for (Value *v : inputs) node->add_input(v);
  if (!types.is_none())
    for (const PythonType &t : types.cast<std::vector<PythonType>>())
      node->add_output(t.type, name);
  else if (schema)
    for (const Argument &r : schema->returns) node->add_output(r.type, name);
  else
    throw Unsupported("the operator " + op + " has no schema: load the library that registers it");
  return results_of(node);
}

void GraphBuilder::begin(const std::string &op, const py::list &args) {
  std::vector<Value *> inputs;
  for (py::handle a : args) inputs.push_back(operand(a));
  open_.push_back(append(op));
  for (Value *v : inputs) open_.back()->add_input(v);
}

py::list GraphBuilder::block(const std::vector<PythonType> &types, const std::string &name) {
  Block *inner = open_.back()->add_block();
  blocks_.push_back(inner);
  py::list params;
  for (const PythonType &t : types)
    params.append(py::cast(inner->add_param(t.type, name), py::return_value_policy::reference));
  return params;
}

void GraphBuilder::leave(const py::list &results) {
  std::vector<Value *> values;
  for (py::handle r : results) values.push_back(operand(r));
  for (Value *v : values) blocks_.back()->results.add_input(v);
  blocks_.pop_back();
}

py::list GraphBuilder::end(const std::vector<PythonType> &types, const std::string &name) {
  Node *node = open_.back();
  open_.pop_back();
  for (const PythonType &t : types) node->add_output(t.type, name);
  py::list out;
  for (Value *v : node->outputs) out.append(py::cast(v, py::return_value_policy::reference));
  return out;
}

// ---- where they come from

void GraphBuilder::set_source(const py::object &source) {
  source_ = source;
  at_ = {};
  if (source.is_none()) return;
  const auto [file, line, function, module] =
      source.cast<std::tuple<std::string, uint32_t, std::string, std::string>>();
  at_.file = file;
  at_.line = line;
  at_.function = function;
  at_.module = module;
}

void GraphBuilder::mark(const py::list &results, uint64_t handle) {
  std::unordered_set<Node *> nodes;
  bool all = true;
  for (py::handle r : results) {
    Node *node = is_value(r) ? r.cast<Value *>()->def : nullptr;
    all &= node && unmarked_.erase(node) + nodes.count(node) > 0;
    if (node) nodes.insert(node);
  }
  if (all && nodes.size() == 1) (*nodes.begin())->source.handle = handle;
}

// ---- the program

Value *GraphBuilder::input(const PythonType &type, const std::string &name) {
  return graph_->top.add_param(type.type, name);
}

Value *GraphBuilder::attribute(const std::string &name, at::Tensor tensor) {
  refuse_fake(tensor);
  const size_t slot = attributes_.size();
  const std::string own = name.empty() ? "constant." + std::to_string(slot) : name;
  attributes_.push_back({own, tensor_type(), const_tensor(from_torch(tensor), own)});
  Value *at = graph_->constant(const_int(static_cast<int64_t>(slot)));
  Value *value = append("rush::get_attr", {at}, tensor_type());
  value->name = own;
  return value;
}

// Whether no other attribute shares its memory.
bool GraphBuilder::is_alone(size_t slot) const {
  auto memory = [&](size_t i) { return attributes_[i].initial.tensor.storage_id(); };
  size_t n = 0;
  for (size_t i = 0; i < attributes_.size(); i++) n += memory(i) == memory(slot);
  return n == 1;
}

// Replacing the tensor of an attribute is not visible if nothing else refers to the new one, and
// nothing reads the old one any more.
bool GraphBuilder::may_replace(const Value *written, const Value *value) const {
  return written->def && written->def->op == "rush::get_attr" &&
         is_alone(static_cast<size_t>(written->def->constant(0)->i)) && is_fresh(value) &&
         !fate_of(value).escapes && !fate_of(written).escapes;
}

void GraphBuilder::change(Value *written, Value *value) {
  if (may_replace(written, value)) {
    Node *set = append("rush::set_attr");
    set->add_input(written->def->input(0));
    set->add_input(value);
  } else {
    append("aten::copy_", {written, value, graph_->constant(const_bool(false))}, tensor_type());
  }
}

void GraphBuilder::finish(Program *program, Method *method) {
  if (!graph_) throw std::logic_error("finish() must be called once for each graph");
  at_ = {};
  for (auto [written, value] : changed_) change(written, value);
  program->attributes = std::move(attributes_);
  graph_->name = method->name;
  method->graph = std::move(graph_);
}

// ---- for Python

namespace {

PythonType tuple_type(const std::vector<PythonType> &items, const std::string &name,
                      const std::vector<std::string> &fields) {
  std::vector<TypeRef> types;
  for (const PythonType &t : items) types.push_back(t.type);
  return {make_type(RUSH_TYPE_TUPLE, std::move(types), name, fields)};
}

void define_type(py::module_ &module) {
  py::class_<PythonType>(module, "Type")
      .def(py::init([](const std::string &text) { return PythonType{parse_type(text)}; }))
      .def_static("list", [](const PythonType &item) { return PythonType{list_of(item.type)}; })
      .def_static("dict",
                  [](const PythonType &key, const PythonType &item) {
                    return PythonType{make_type(RUSH_TYPE_DICT, {key.type, item.type})};
                  })
      .def_static("tuple", tuple_type, py::arg("items"), py::arg("name") = "",
                  py::arg("fields") = std::vector<std::string>())
      .def_property_readonly("items",
                             [](const PythonType &t) {
                               std::vector<PythonType> out;
                               for (const TypeRef &item : t.type->items) out.push_back({item});
                               return out;
                             })
      .def("__repr__", [](const PythonType &t) { return "Type('" + to_string(*t.type) + "')"; })
      .def("__eq__",
           [](const PythonType &a, const PythonType &b) { return equal(*a.type, *b.type); })
      .def("__str__", [](const PythonType &t) { return to_string(*t.type); })
      .def("__hash__",
           [](const PythonType &t) { return std::hash<std::string>()(to_string(*t.type)); });
  py::implicitly_convertible<py::str, PythonType>();
}

}  // namespace

void define_graph(py::module_ &module) {
  define_type(module);
  py::class_<Value, std::unique_ptr<Value, py::nodelete>>(module, "Value")
      .def_property_readonly("type", [](const Value &v) { return PythonType{v.type}; })
      .def_property_readonly(
          "is_none", [](const Value &v) { return v.is_constant() && v.constant->is_none(); });
  const auto within = py::return_value_policy::reference_internal;
  py::class_<GraphBuilder>(module, "GraphBuilder")
      .def(py::init<>())
      .def("input", &GraphBuilder::input, within)
      .def("constant", &GraphBuilder::constant, within)
      .def("attribute", &GraphBuilder::attribute, within)
      .def("node", &GraphBuilder::node, py::arg("op"), py::arg("args"),
           py::arg("types") = py::none(), py::arg("name") = "")
      .def("begin", &GraphBuilder::begin)
      .def("block", &GraphBuilder::block, py::arg("types") = std::vector<PythonType>(),
           py::arg("name") = "")
      .def("leave", &GraphBuilder::leave)
      .def("end", &GraphBuilder::end)
      .def_property("source", &GraphBuilder::source, &GraphBuilder::set_source)
      .def("mark", &GraphBuilder::mark)
      .def("set_result", &GraphBuilder::set_result)
      .def("write_back", &GraphBuilder::write_back);
}

}  // namespace rush
