// Converts a frozen and inlined libtorch graph to ours.
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "front/from_c10.h"
#include "front/torchscript_parts.h"
#include "ir/unsupported.h"

namespace rush {

namespace jit = torch::jit;
namespace prim = c10::prim;
namespace attr = c10::attr;

void TensorNames::add(const Tensor &tensor, const std::string &name) {
  if (!tensor.is_strided() || tensor.numel() == 0) return;
  by_data_.emplace(tensor.bytes(), tensors_.size());
  tensors_.emplace_back(tensor, name);
}

std::string TensorNames::find(const Tensor &tensor) const {
  if (!tensor.is_strided() || tensor.numel() == 0) return "";
  auto [from, to] = by_data_.equal_range(tensor.bytes());
  for (auto it = from; it != to; ++it) {
    const Tensor &named = tensors_[it->second].first;
    if (named.numel() == tensor.numel() && named.dtype() == tensor.dtype())
      return tensors_[it->second].second;
  }
  return "";
}

namespace {

class Converter {
 public:
  Converter(const jit::Module *self, ConvertContext &context) : self_(self), context_(context) {}

  std::unique_ptr<Graph> run(const jit::Graph &from) {
    auto graph = std::make_unique<Graph>();
    graph_ = graph.get();
    size_t first = 0;
    if (self_) {
      objects_[from.inputs()[0]] = self_->_ivalue();
      first = 1;
    }
    for (size_t i = first; i < from.inputs().size(); i++) {
      const jit::Value *v = from.inputs()[i];
      values_[v] = graph->top.add_param(from_c10(v->type()), name_of(v));
    }
    nodes(*from.block(), &graph->top);
    results(*from.block(), &graph->top);
    return graph;
  }

 private:
  // PyTorch's debug name.
  static std::string name_of(const jit::Value *v) { return v->debugName(); }

  [[noreturn]] void refuse(const jit::Node &node, const std::string &why) const {
    Source at = context_.handles->source(node);
    std::string where = at.file.empty() ? "" : at.file + ":" + std::to_string(at.line) + ": ";
    throw Unsupported(where + why);
  }

  Value *value(const jit::Value *v) {
    auto found = values_.find(v);
    if (found != values_.end()) return found->second;
    if (objects_.count(v))
      refuse(*v->node(), "a module or object (%" + v->debugName() + " of type " +
                             v->type()->annotation_str() + ") is used as a value");
    refuse(*v->node(), "%" + v->debugName() + " is used and was never made");
  }

  void nodes(const jit::Block &from, Block *to) {
    for (const jit::Node *n : from.nodes()) node(*n, to);
  }
  void results(const jit::Block &from, Block *to) {
    for (const jit::Value *v : from.outputs()) to->results.add_input(value(v));
  }

  // PyTorch sorts objects by the program's own __lt__, and leaves the order of equal ones to
  // std::sort.
  void refuse_sorted_objects(const jit::Node &n) const {
    const auto list = n.inputs().at(0)->type()->cast<c10::ListType>();
    if (!list) return;
    std::vector<c10::TypePtr> compared = {list->getElementType()};
    if (const auto tuple = compared[0]->cast<c10::TupleType>()) compared = tuple->elements().vec();
    for (const c10::TypePtr &type : compared)
      if (is_program_class(type))
        refuse(n, "sorts objects of type " + type->annotation_str() +
                      " by their __lt__, which the runtime does not call: sort a list of tuples "
                      "(what they are compared by, their index), and take the objects by it");
  }

  // Nodes of these kinds may need more than a copy. A handler returns whether it made the node.
  using Handler = bool (Converter::*)(const jit::Node &, Block *);
  static const std::unordered_map<c10::Symbol, Handler> &handlers() {
    static const std::unordered_map<c10::Symbol, Handler> out = {
        {c10::aten::sort, &Converter::sorted},
        {c10::aten::sorted, &Converter::sorted},
        {prim::Constant, &Converter::constant},
        {prim::GetAttr, &Converter::get_attr},
        {prim::SetAttr, &Converter::set_attr},
        {prim::CreateObject, &Converter::create_object},
        {c10::aten::__is__, &Converter::compare_objects},
        {c10::aten::__isnot__, &Converter::compare_objects},
        {prim::PythonOp, &Converter::python_call},
        {prim::Enter, &Converter::with_statement},
        {prim::Exit, &Converter::with_statement},
    };
    return out;
  }

  void node(const jit::Node &n, Block *to) {
    const auto handler = handlers().find(n.kind());
    if (handler == handlers().end() || !(this->*handler->second)(n, to)) copy(n, to);
  }

  void copy(const jit::Node &n, Block *to) {
    Node *out = append(n, to, name(n));
    for (const jit::Value *v : n.inputs()) out->add_input(value(v));
    if (n.kind() == prim::isinstance) out->add_input(graph_->constant(asked_types(n)));
    for (const jit::Block *b : n.blocks()) {
      Block *inner = out->add_block();
      for (const jit::Value *p : b->inputs())
        values_[p] = inner->add_param(from_c10(p->type()), name_of(p));
      nodes(*b, inner);
      results(*b, inner);
    }
    for (const jit::Value *v : n.outputs())
      values_[v] = out->add_output(from_c10(v->type()), name_of(v));
  }

  bool sorted(const jit::Node &n, Block *) {
    refuse_sorted_objects(n);
    return false;
  }

  bool create_object(const jit::Node &n, Block *to) {
    const c10::TypePtr &type = n.output()->type();
    if (is_silent_context(type)) {
      silent_contexts_.insert(n.output());
      return true;
    }
    if (!is_program_class(type)) return false;
    values_[n.output()] =
        append(n, to, "rush::object")->add_output(from_c10(type), name_of(n.output()));
    return true;
  }

  bool python_call(const jit::Node &n, Block *) {
    refuse(n, "calls the Python function '" + static_cast<const jit::PythonOp &>(n).name() +
                  "' (torch.jit.ignore), which a file cannot hold: leave the call out, or mark "
                  "the function @torch.jit.unused where it never runs");
  }

  bool with_statement(const jit::Node &n, Block *) {
    if (!silent_contexts_.count(n.inputs()[0])) return false;
    values_[n.output()] = graph_->constant(const_none());
    return true;
  }

  // Whether two modules are the same.
  bool compare_objects(const jit::Node &n, Block *) {
    const c10::IValue *a = object(n.inputs()[0]), *b = object(n.inputs()[1]);
    if (!a || !b) return false;
    const bool wanted = n.kind() == c10::aten::__is__;
    values_[n.output()] = graph_->constant(const_bool(a->is(*b) == wanted));
    return true;
  }

  static std::string name(const jit::Node &n) {
    if (const c10::FunctionSchema *schema = n.maybeSchema())
      return c10::toString(schema->operator_name());
    return n.kind().toQualString();
  }

  // prim::isinstance keeps its types as an attribute. Here they are an argument: an empty list whose
  // item type is a tuple of these types.
  Const asked_types(const jit::Node &n) const {
    std::vector<TypeRef> types;
    for (const auto &t : n.tys(attr::types))
      if (t->kind() == c10::TypeKind::AnyTupleType)
        add_tuples_among(n, n.inputs()[0]->type(), &types);
      else
        types.push_back(from_c10(t));
    return const_list(make_type(RUSH_TYPE_TUPLE, std::move(types)), {});
  }

  // A file has no type of all tuples. Adds the tuple types that the value may have.
  void add_tuples_among(const jit::Node &n, const c10::TypePtr &of,
                        std::vector<TypeRef> *types) const {
    if (of->kind() == c10::TypeKind::AnyType)
      refuse(n,
             "asks whether a value of any type is a tuple: say which tuples it may be "
             "(Union[...]), or ask for one of them (Tuple[int, int])");
    if (of->kind() == c10::TypeKind::TupleType)
      types->push_back(from_c10(of));
    else if (of->kind() == c10::TypeKind::UnionType || of->kind() == c10::TypeKind::OptionalType)
      for (const auto &member : of->containedTypes()) add_tuples_among(n, member, types);
  }

  Node *append(const jit::Node &n, Block *to, std::string op) {
    Node *out = to->append(std::move(op));
    out->source = context_.handles->source(n);
    return out;
  }

  // Freezing makes an object in an attribute without a SetAttr a constant, although the program may
  // write into it. It stays an attribute.
  void constant_objects(const jit::Node &n, const c10::IValue &value, Block *to) {
    std::string name = n.output()->debugName();
    if (name.rfind("self.", 0) == 0) name = name.substr(5);
    if (value.isObject()) {
      const void *object = value.toObject().get();
      name = context_.paths.emplace(object, name).first->second;
      if (!context_.as_values.count(object)) {
        objects_[n.output()] = value;
        return;
      }
    }
    read_slot(n, slot(identity(value), name, n.output()->type(), value), to);
  }

  // Packed weights become an operator that the runtime lacks, so that it is listed with the operators
  // that use them.
  bool packed_weights(const jit::Node &n, const c10::IValue &value, Block *to) {
    const std::string name = packed_class(value);
    if (name.empty()) return false;
    Node *out = append(n, to, "quantized::" + name);
    values_[n.output()] = out->add_output(make_type(RUSH_TYPE_ANY), "");
    return true;
  }

  // A quantized constant becomes its integers and a node that makes the quantized tensor.
  bool quantized(const jit::Node &n, const c10::IValue &value, Block *to) {
    if (!value.isTensor() || !value.toTensor().is_quantized()) return false;
    const at::Tensor &t = value.toTensor();
    const bool channels = t.qscheme() == at::kPerChannelAffine;
    if (!channels && t.qscheme() != at::kPerTensorAffine)
      refuse(n, "a quantized tensor must have integer zero points, got floats");
    Node *out = append(n, to,
                       channels ? "aten::_make_per_channel_quantized_tensor"
                                : "aten::_make_per_tensor_quantized_tensor");
    std::vector<c10::IValue> inputs{t.int_repr()};
    if (channels) {
      inputs.insert(inputs.end(), {t.q_per_channel_scales(), t.q_per_channel_zero_points(),
                                   t.q_per_channel_axis()});
    } else {
      inputs.insert(inputs.end(), {t.q_scale(), t.q_zero_point()});
    }
    for (const c10::IValue &input : inputs) out->add_input(graph_->constant(from_ivalue(input)));
    values_[n.output()] = out->add_output(make_type(RUSH_TYPE_TENSOR), "");
    return true;
  }

  bool constant(const jit::Node &n, Block *to) {
    const auto ivalue = jit::toIValue(n.output());
    if (!ivalue)
      refuse(n, "a constant must have a type that a file can hold, got " +
                    n.output()->type()->annotation_str());
    if (holds_objects(*ivalue)) {
      constant_objects(n, *ivalue, to);
      return true;
    }
    if (packed_weights(n, *ivalue, to) || quantized(n, *ivalue, to)) return true;
    Const c;
    try {
      c = from_ivalue(*ivalue);
    } catch (const std::invalid_argument &e) {
      refuse(n, e.what());
    }
    name_tensors(&c, n.output()->hasDebugName() ? n.output()->debugName() : "");
    Value *v = graph_->constant(std::move(c));
    if (v->type->kind != RUSH_TYPE_NONE) v->type = from_c10(n.output()->type());
    values_[n.output()] = v;
    return true;
  }

  // Names tensors as in the state dict, and folded weights as freezing does
  // ("self.conv.weight...").
  void name_tensors(Const *c, const std::string &debug_name) {
    if (c->is_tensor()) {
      c->s = context_.names->find(c->tensor);
      if (c->s.empty() && debug_name.find_first_not_of("0123456789.") != std::string::npos)
        c->s = debug_name.rfind("self.", 0) == 0 ? debug_name.substr(5) : debug_name;
    }
    for (Const &item : c->items) name_tensors(&item, "");
  }

  // The module object that a value holds; nullptr if it is not known.
  const c10::IValue *object(const jit::Value *v) const {
    auto found = objects_.find(v);
    return found == objects_.end() ? nullptr : &found->second;
  }

  size_t slot_of(const jit::Node &n) {
    const auto owner = object(n.inputs()[0])->toObject();
    const std::string attribute = n.s(attr::name), &path = context_.paths[owner.get()];
    return slot(identity(owner) + "/" + attribute,
                path.empty() ? attribute : path + "." + attribute,
                owner->type()->getAttribute(attribute), owner->getAttr(attribute));
  }

  size_t slot(const std::string &key, const std::string &name, const c10::TypePtr &type,
              const c10::IValue &initial) {
    auto found = context_.slots.find(key);
    if (found != context_.slots.end()) return found->second;
    refuse_shared(initial, name, &context_.contents);
    Attribute out;
    out.name = name;
    out.type = from_c10(type);
    out.initial = from_ivalue(initial);
    name_tensors(&out.initial, "");
    if (out.initial.is_tensor()) out.initial.s = out.name;
    context_.program->attributes.push_back(std::move(out));
    return context_.slots[key] = context_.program->attributes.size() - 1;
  }

  void read_slot(const jit::Node &n, size_t slot, Block *to) {
    Node *out = append(n, to, "rush::get_attr");
    out->add_input(graph_->constant(const_int(static_cast<int64_t>(slot))));
    values_[n.output()] = out->add_output(from_c10(n.output()->type()), name_of(n.output()));
  }

  // Reads or writes an attribute of an object that is a value, by its index in the class.
  bool attribute_of_value(const jit::Node &n, Block *to) {
    const jit::Value *of = n.inputs()[0];
    if (object(of)) return false;
    if (silent_contexts_.count(of)) {
      for (const jit::Value *v : n.outputs()) values_[v] = graph_->constant(const_bool(false));
      return true;
    }
    const bool ours = is_program_class(of->type());
    const bool get = n.kind() == prim::GetAttr;
    Node *out = append(n, to,
                       !ours ? n.kind().toQualString()
                       : get ? "rush::object_get"
                             : "rush::object_set");
    out->add_input(value(of));
    const std::string attribute = n.s(attr::name);
    out->add_input(graph_->constant(
        ours ? const_int(static_cast<int64_t>(
                   of->type()->expectRef<c10::ClassType>().getAttributeSlot(attribute)))
             : const_str(attribute)));
    for (size_t i = 1; i < n.inputs().size(); i++) out->add_input(value(n.inputs()[i]));
    for (const jit::Value *v : n.outputs())
      values_[v] = out->add_output(from_c10(v->type()), name_of(v));
    return true;
  }

  // The module that a node reads from `object`, or an object that is treated like a module.
  std::optional<c10::IValue> object_of(const jit::Node &n, const c10::IValue *object) const {
    if (!object || !n.output()->type()->cast<c10::ClassType>()) return std::nullopt;
    c10::IValue inner = object->toObject()->getAttr(n.s(attr::name));
    if (context_.as_values.count(inner.toObject().get())) return std::nullopt;
    return inner;
  }

  bool get_attr(const jit::Node &n, Block *to) {
    if (attribute_of_value(n, to)) return true;
    const c10::IValue *object = this->object(n.inputs()[0]);
    if (const auto inner = object_of(n, object)) {
      const std::string &path = context_.paths[object->toObject().get()];
      context_.paths[inner->toObject().get()] =
          path.empty() ? n.s(attr::name) : path + "." + n.s(attr::name);
      objects_[n.output()] = *inner;
      return true;
    }
    read_slot(n, slot_of(n), to);
    return true;
  }

  bool set_attr(const jit::Node &n, Block *to) {
    if (attribute_of_value(n, to)) return true;
    Value *slot = graph_->constant(const_int(static_cast<int64_t>(slot_of(n))));
    Value *given = value(n.inputs()[1]);
    Node *out = append(n, to, "rush::set_attr");
    out->add_input(slot);
    out->add_input(given);
    return true;
  }

  const jit::Module *self_;
  ConvertContext &context_;
  Graph *graph_ = nullptr;
  std::unordered_map<const jit::Value *, Value *> values_;
  std::unordered_map<const jit::Value *, c10::IValue> objects_;  // modules
  std::unordered_set<const jit::Value *> silent_contexts_;
};

}  // namespace

std::unique_ptr<Graph> convert(const jit::Graph &from, const jit::Module *self,
                               ConvertContext &context) {
  return Converter(self, context).run(from);
}

}  // namespace rush
