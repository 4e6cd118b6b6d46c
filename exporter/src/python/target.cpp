#include "python/target.h"

#include "front/from_c10.h"
#include "front/reference.h"
#include "front/seed.h"

namespace rush {

namespace {

// Whether PyTorch must guess the type of a value in it, which fails for a list of several types.
bool is_guessed(const c10::TypePtr &type) {
  if (type->kind() == c10::TypeKind::UnionType || type->kind() == c10::TypeKind::AnyType)
    return true;
  for (const auto &inner : type->containedTypes())
    if (is_guessed(inner)) return true;
  return false;
}

// A single number becomes a list of `n` (BroadcastingList).
Const value_of(py::handle value, const c10::TypePtr &type, std::optional<int32_t> n = {}) {
  try {
    return from_ivalue(torch::jit::toIValue(value, type, n));
  } catch (const c10::Error &) {
    if (!is_guessed(type)) throw;
    return typed(from_python(value), from_c10(type));
  }
}

// Whether a method takes these arguments.
bool fits(const c10::FunctionSchema &schema, const py::tuple &args) {
  if (args.size() + 1 > schema.arguments().size()) return false;
  try {
    for (size_t i = 0; i < args.size(); i++) value_of(args[i], schema.arguments()[i + 1].type());
  } catch (const std::exception &) {
    return false;
  }
  return true;
}

py::tuple to_arguments(const std::vector<Const> &args) {
  py::tuple in(args.size());
  const std::vector<Const> copies = snapshot(args);
  for (size_t i = 0; i < copies.size(); i++) in[i] = to_python(copies[i]);
  return in;
}

// Converts the trace of a Python interpreter.
Trace trace_of(const py::list &items) {
  Trace out;
  for (py::handle item : items) {
    const py::tuple pair = item.cast<py::tuple>();
    Traced node;
    node.handle = pair[0].cast<uint64_t>();
    for (py::handle value : pair[1].cast<py::list>()) node.results.push_back(from_python(value));
    out.nodes.push_back(std::move(node));
  }
  return out;
}

}  // namespace

size_t Target::argument_count(const std::string &method) const {
  return program ? method_of(method).inputs.size()
                 : schema(method).arguments().size() - first_argument();
}

Const Target::argument(const std::string &method, size_t i, py::handle value) const {
  if (program) return typed(from_python(value), method_of(method).inputs.at(i).type);
  const c10::Argument &taken = schema(method).arguments().at(first_argument() + i);
  const TypeRef type = from_c10(taken.type());
  // Named tuples come without their names.
  return typed(value_of(as_tuples(value, *type), taken.type(), taken.N()), type);
}

Const Target::result(const std::string &method, py::handle value) const {
  if (program)
    return typed(from_python(value), method_of(method).graph->top.results.input(0)->type);
  const c10::TypePtr &type = schema(method).returns().at(0).type();
  return value_of(as_tuples(value, *from_c10(type)), type);
}

const c10::FunctionSchema &Target::schema(const std::string &method) const {
  if (function) return function->function_->getSchema();
  if (!module->find_method(method))
    throw std::invalid_argument("the model has no method '" + method + "'");
  return module->get_method(method).function().getSchema();
}

const Method &Target::method_of(const std::string &name) const {
  for (const Method &m : program->methods)
    if (m.name == name) return m;
  throw std::invalid_argument("the model has no method '" + name + "'");
}

Target target_of(py::object object, const py::tuple &args) {
  Target out;
  if (py::isinstance<py::str>(object)) {
    out.module = load_torchscript(object.cast<std::string>());
  } else if (auto module = torch::jit::as_module(object)) {
    out.module = *module;
  } else {
    out.function = object.cast<torch::jit::StrongFunctionPtr>();
    if (auto with_plain = with_boundary_tuples(*out.function)) out.function = *with_plain;
    return out;
  }
  auto with_forward = with_overload(*out.module, "forward", [&](const c10::FunctionSchema &schema) {
    return fits(schema, args);
  });
  if (with_forward) out.module = *with_forward;
  if (auto hooked = with_hooks(*out.module)) out.module = *hooked;
  if (auto with_plain = with_boundary_tuples(*out.module)) out.module = *with_plain;
  return out;
}

Example example_of(const py::dict &from, const Target &target) {
  Example out;
  out.method = from["method"].cast<std::string>();
  const py::tuple args = from["args"].cast<py::tuple>();
  if (args.size() > target.argument_count(out.method))
    throw std::invalid_argument("an example for " + out.method + " must have at most " +
                                std::to_string(target.argument_count(out.method)) +
                                " inputs, got " + std::to_string(args.size()));
  for (size_t i = 0; i < args.size(); i++)
    out.args.push_back(target.argument(out.method, i, args[i]));
  out.args = snapshot(out.args);
  if (from.contains("expected"))
    out.expected = snapshot({target.result(out.method, from["expected"])})[0];
  out.given = out.expected.has_value();
  out.rtol = from["rtol"].cast<double>();
  out.atol = from["atol"].cast<double>();
  out.store = from["store"].cast<bool>();
  out.only_compared = from["only_compared"].cast<bool>();
  return out;
}

Reference python_reference(py::object call, const Target &target) {
  return answering([call, &target](const std::string &method, const std::vector<Const> &args) {
    const TestSeed seed;
    return target.result(method, call(method, to_arguments(args)));
  });
}

Tracer tracer_of(const Target &target, bool train) {
  return answering(
      [&target, train](const std::string &method, const std::vector<Const> &args, bool in_double) {
        return target.module ? trace_module(*target.module, method, args, train, in_double)
                             : trace_function(*target.function->function_, args, in_double);
      });
}

Tracer python_tracer(py::object call) {
  return answering([call](const std::string &, const std::vector<Const> &args, bool in_double) {
    return trace_of(call(to_arguments(args), in_double));
  });
}

GraphAnswer python_graph(py::object call, const Target &target) {
  return answering(
      [call, &target](const std::string &method, const std::vector<Const> &args, bool in_double) {
        return target.result(method, call(to_arguments(args), in_double));
      });
}

}  // namespace rush
