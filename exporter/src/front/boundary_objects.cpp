// Enums and objects of the program's own classes as inputs and results. Callers see named tuples: the name and the
// value of an enum, the attributes of an object.
#include <torch/csrc/jit/passes/inliner.h>

#include "front/from_c10.h"
#include "front/torchscript_parts.h"

namespace rush {

namespace jit = torch::jit;
namespace aten = c10::aten;
namespace prim = c10::prim;

namespace {

c10::TypePtr named(const std::string &name, const std::vector<std::string> &fields,
                   const std::vector<c10::TypePtr> &types) {
  return c10::TupleType::createNamed(c10::QualifiedName(name), fields, types);
}

// The type that callers see. Recursion into a class that contains itself ends after a few levels.
c10::TypePtr boundary_type(const c10::TypePtr &type, int depth = 0) {
  if (depth > 16) return type;
  std::vector<c10::TypePtr> items;
  std::vector<std::string> fields;
  if (const auto e = type->cast<c10::EnumType>())
    return named(e->qualifiedClassName().name(), {"name", "value"},
                 {c10::StringType::get(), e->getValueType()});
  if (is_program_class(type)) {
    const auto &of = type->expectRef<c10::ClassType>();
    for (size_t i = 0; i < of.numAttributes(); i++) {
      fields.push_back(of.getAttributeName(i));
      items.push_back(boundary_type(of.getAttribute(i), depth + 1));
    }
    return items.empty() ? type : named(of.name()->name(), fields, items);
  }
  if (type->kind() != c10::TypeKind::OptionalType && type->kind() != c10::TypeKind::ListType &&
      type->kind() != c10::TypeKind::DictType && type->kind() != c10::TypeKind::TupleType)
    return type;
  bool same = true;
  for (const c10::TypePtr &item : type->containedTypes()) {
    items.push_back(boundary_type(item, depth + 1));
    same = same && items.back() == item;
  }
  const auto tuple = type->cast<c10::TupleType>();
  if (same) return type;
  if (!tuple || !tuple->schema()) return type->withContained(items);
  for (const c10::Argument &a : tuple->schema()->arguments()) fields.push_back(a.name());
  return c10::TupleType::createNamed(tuple->name(), fields, items);
}

bool has_classes(const c10::TypePtr &type) {
  if (is_program_class(type) || type->kind() == c10::TypeKind::EnumType) return true;
  for (const c10::TypePtr &item : type->containedTypes())
    if (type->kind() != c10::TypeKind::ClassType && has_classes(item)) return true;
  return false;
}

// Whether all classes in the type can become tuples.
bool becomes_tuple(const c10::TypePtr &type) {
  return has_classes(type) && !has_classes(boundary_type(type));
}

// Inserts the conversion at the graph's insertion point.
class Edge {
 public:
  Edge(jit::Graph &graph, bool inward) : graph_(graph), inward_(inward) {}

  // `own` is the type inside of the program.
  jit::Value *convert(jit::Value *v, const c10::TypePtr &own) {
    if (!has_classes(own)) return v;
    if (is_program_class(own)) return inward_ ? object(v, own) : attributes(v, own);
    if (const auto of = own->cast<c10::EnumType>()) return inward_ ? member(v, of) : parts(v, own);
    switch (own->kind()) {
      case c10::TypeKind::OptionalType:
        return optional(v, own);
      case c10::TypeKind::ListType:
        return list(v, own);
      case c10::TypeKind::DictType:
        return dict(v, own);
      default:
        return tuple(v, own);
    }
  }

 private:
  c10::TypePtr given(const c10::TypePtr &own) const { return inward_ ? boundary_type(own) : own; }
  c10::TypePtr wanted(const c10::TypePtr &own) const { return inward_ ? own : boundary_type(own); }

  jit::Value *packed(const std::vector<jit::Value *> &items, const c10::TypePtr &type) {
    const auto named = type->cast<c10::TupleType>();
    return graph_.insertNode(graph_.createTuple(items, named->schema() ? named : nullptr))
        ->output();
  }

  jit::Value *attributes(jit::Value *v, const c10::TypePtr &own) {
    const auto &of = own->expectRef<c10::ClassType>();
    std::vector<jit::Value *> items;
    for (size_t i = 0; i < of.numAttributes(); i++)
      items.push_back(convert(graph_.insertGetAttr(v, of.getAttributeName(i)), of.getAttribute(i)));
    return packed(items, boundary_type(own));
  }

  jit::Value *object(jit::Value *v, const c10::TypePtr &own) {
    const auto of = own->expect<c10::ClassType>();
    const auto items = graph_.insertNode(graph_.createTupleUnpack(v))->outputs();
    jit::Value *made = graph_.insertNode(graph_.createObject(of))->output();
    for (size_t i = 0; i < of->numAttributes(); i++)
      graph_.insertNode(graph_.createSetAttr(made, of->getAttributeName(i),
                                             convert(items[i], of->getAttribute(i))));
    return made;
  }

  jit::Value *parts(jit::Value *v, const c10::TypePtr &own) {
    jit::Value *name = graph_.insertNode(graph_.createEnumName(v))->output();
    jit::Value *value = graph_.insertNode(graph_.createEnumValue(v))->output();
    return packed({name, value}, boundary_type(own));
  }

  // The member of that name.
  jit::Value *member(jit::Value *v, const c10::EnumTypePtr &of) {
    jit::Value *name = graph_.insertNode(graph_.createTupleUnpack(v))->outputs()[0];
    return one_of(name, of, 0);
  }

  jit::Value *one_of(jit::Value *name, const c10::EnumTypePtr &of, size_t i) {
    if (i == of->enumNamesValues().size()) {
      const std::string says =
          "it must be the name of a member of " + of->qualifiedClassName().name();
      jit::Node *raise = graph_.insertNode(graph_.create(
          prim::RaiseException,
          {graph_.insertConstant(says), graph_.insertConstant(std::string("builtins.ValueError"))},
          0));
      (void)raise;
      return graph_.insertNode(graph_.createUninitialized(of))->output();
    }
    const auto &[word, value] = of->enumNamesValues()[i];
    jit::Value *is = graph_.insert(aten::eq, {name, graph_.insertConstant(word)});
    const c10::IValue one(c10::make_intrusive<c10::ivalue::EnumHolder>(of, word, value));
    return choice(
        is, of, [&] { return graph_.insertConstant(one); },
        [&] { return one_of(name, of, i + 1); });
  }

  template <class Yes, class No>
  jit::Value *choice(jit::Value *condition, const c10::TypePtr &type, Yes yes, No no) {
    jit::Node *node = graph_.insertNode(graph_.create(prim::If, {condition}, 0));
    jit::Block *first = node->addBlock(), *second = node->addBlock();
    {
      jit::WithInsertPoint inside(first);
      first->registerOutput(yes());
    }
    {
      jit::WithInsertPoint inside(second);
      second->registerOutput(no());
    }
    return node->addOutput()->setType(type);
  }

  jit::Value *optional(jit::Value *v, const c10::TypePtr &own) {
    const c10::TypePtr item = own->expectRef<c10::OptionalType>().getElementType();
    jit::Value *some = graph_.insert(aten::__isnot__, {v, graph_.insertConstant(c10::IValue())});
    return choice(
        some, wanted(own),
        [&] { return convert(graph_.insertUncheckedCast(v, given(item)), item); },
        [&] { return graph_.insertConstant(c10::IValue()); });
  }

  jit::Value *tuple(jit::Value *v, const c10::TypePtr &own) {
    const auto values = graph_.insertNode(graph_.createTupleUnpack(v))->outputs();
    std::vector<jit::Value *> items;
    for (size_t i = 0; i < values.size(); i++)
      items.push_back(convert(values[i], own->containedType(i)));
    return packed(items, wanted(own));
  }

  template <class Body>
  void each(jit::Value *count, Body body) {
    jit::Node *loop =
        graph_.insertNode(graph_.create(prim::Loop, {count, graph_.insertConstant(true)}, 0));
    jit::Block *block = loop->addBlock();
    jit::Value *i = block->addInput()->setType(c10::IntType::get());
    jit::WithInsertPoint inside(block);
    body(i);
    block->registerOutput(graph_.insertConstant(true));
  }

  jit::Value *list(jit::Value *v, const c10::TypePtr &own) {
    const c10::TypePtr item = own->containedType(0);
    jit::Value *made = graph_.insertNode(graph_.createList(wanted(item), {}))->output();
    each(graph_.insert(aten::len, {v}), [&](jit::Value *i) {
      graph_.insert(aten::append, {made, convert(graph_.insert(aten::__getitem__, {v, i}), item)});
    });
    return made;
  }

  jit::Value *dict(jit::Value *v, const c10::TypePtr &own) {
    const c10::TypePtr item = own->containedType(1);
    jit::Value *made =
        graph_.insertNode(graph_.createDict(own->containedType(0), wanted(item), {}, {}))->output();
    jit::Value *keys = graph_.insert(aten::keys, {v});
    each(graph_.insert(aten::len, {keys}), [&](jit::Value *i) {
      jit::Value *key = graph_.insert(aten::__getitem__, {keys, i});
      jit::Value *value = convert(graph_.insert(aten::__getitem__, {v, key}), item);
      graph_.insert(aten::_set_item, {made, key, value});
    });
    return made;
  }

  jit::Graph &graph_;
  bool inward_;
};

// A default value for callers; none if it has no constant form.
std::optional<c10::IValue> default_outside(const c10::Argument &a) {
  if (!a.default_value() || a.default_value()->isNone()) return a.default_value();
  if (!a.default_value()->isEnum()) return {};
  const auto holder = a.default_value()->toEnumHolder();
  return c10::ivalue::Tuple::createNamed({holder->name(), holder->value()},
                                         boundary_type(holder->type())->expect<c10::TupleType>());
}

bool is_optional_object(const c10::TypePtr &type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional && is_program_class(optional->getElementType());
}

// The form in which callers pass an argument.
enum class Form { SAME, TUPLE, OMITTED };

// The one decision for arguments of a method. An optional object whose default is None is omitted:
// programs use it in ways that no file supports (torch_geometric's sparse tensors), and callers
// rarely pass one. from_outside() then gives it the type None.
Form form_of(const c10::Argument &a) {
  const bool none = a.default_value() && a.default_value()->isNone();
  if (none && is_optional_object(a.type())) return Form::OMITTED;
  return becomes_tuple(a.type()) ? Form::TUPLE : Form::SAME;
}

c10::Argument take_tuple(jit::Graph &graph, size_t i, const c10::Argument &a) {
  if (form_of(a) != Form::TUPLE) return a;
  jit::Value *old = graph.inputs()[i];
  const std::string name = old->debugName();
  jit::Value *fresh = graph.insertInput(i)->setType(boundary_type(a.type()));
  {
    jit::WithInsertPoint first(*graph.nodes().begin());
    old->replaceAllUsesWith(Edge(graph, true).convert(fresh, a.type()));
  }
  graph.eraseInput(i + 1);
  fresh->setDebugName(name);
  return c10::Argument(a.name(), fresh->type(), a.N(), default_outside(a), a.kwarg_only());
}

bool has_own_classes(const c10::FunctionSchema &schema) {
  for (const c10::Argument &a : schema.arguments())
    if (form_of(a) == Form::TUPLE) return true;
  return becomes_tuple(schema.returns().at(0).type());
}

void convert_boundary(jit::Function &function) {
  auto graph = jit::toGraphFunction(function).graph();
  const c10::FunctionSchema schema = function.getSchema();
  std::vector<c10::Argument> arguments;
  for (const c10::Argument &a : schema.arguments())
    arguments.push_back(take_tuple(*graph, arguments.size(), a));
  c10::TypePtr result = schema.returns().at(0).type();
  if (becomes_tuple(result)) {
    jit::WithInsertPoint last(graph->return_node());
    graph->return_node()->replaceInput(0,
                                       Edge(*graph, false).convert(graph->outputs().at(0), result));
    result = boundary_type(result);
  }
  jit::toGraphFunction(function).clear_optimized_graphs();
  function.setSchema(c10::FunctionSchema(schema.name(), schema.overload_name(), arguments,
                                         {c10::Argument("", result)}));
}

}  // namespace

c10::TypePtr from_outside(const c10::TypePtr &type) {
  if (is_optional_object(type)) return c10::NoneType::get();
  if (type->kind() != c10::TypeKind::UnionType) return type;
  std::vector<c10::TypePtr> kept;
  bool none = false;
  for (const c10::TypePtr &t : type->containedTypes()) {
    if (is_program_class(t)) continue;
    none = none || t->kind() == c10::TypeKind::NoneType;
    kept.push_back(t);
  }
  if (kept.empty()) return type;
  if (kept.size() == 1) return kept[0];
  if (kept.size() > 2 || !none) return c10::UnionType::create(kept);
  return c10::OptionalType::create(kept[kept[0]->kind() == c10::TypeKind::NoneType]);
}

std::optional<jit::Module> with_boundary_tuples(const jit::Module &module) {
  std::vector<std::string> names;
  for (const jit::Method &m : module.get_methods())
    if (has_own_classes(m.function().getSchema())) names.push_back(m.name());
  if (names.empty()) return {};
  jit::Module out = of_own_class(module);
  // Methods may call each other with objects, so calls are inlined first.
  for (const jit::Method &m : out.get_methods()) jit::Inline(*m.graph());
  for (const std::string &name : names) convert_boundary(out.get_method(name).function());
  return out;
}

std::optional<jit::StrongFunctionPtr> with_boundary_tuples(const jit::StrongFunctionPtr &function) {
  const c10::FunctionSchema &schema = function.function_->getSchema();
  if (!has_own_classes(schema)) return {};
  auto unit = std::make_shared<jit::CompilationUnit>();
  auto graph = jit::toGraphFunction(*function.function_).graph()->copy();
  jit::Inline(*graph);
  jit::Function *copy = unit->create_function(function.function_->qualname(), std::move(graph));
  copy->setSchema(schema);
  convert_boundary(*copy);
  return jit::StrongFunctionPtr(std::move(unit), copy);
}

}  // namespace rush
