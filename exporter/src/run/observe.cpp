#include "run/observe.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/inserted_calls.h"

namespace rush {

Observing::Observing(Program *program, size_t method, const std::vector<Value *> &values)
    : program_(program),
      method_(program->methods[method]),
      result_(method_.graph->top.results.input(0)),
      list_(method_.graph->top.append("prim::ListConstruct")),
      outputs_(method_.outputs) {
  for (Value *v : values) list_->add_input(v);
  method_.graph->top.results.set_input(0, list_->add_output(list_of(tensor_type())));
  method_.outputs.assign(1, Port());
  method_.outputs[0].name = "observed";
  method_.outputs[0].type = list_->output()->type;
  std::swap(tests_, program->tests);
}

Observing::~Observing() {
  method_.graph->top.results.set_input(0, result_);
  list_->destroy();
  method_.outputs = std::move(outputs_);
  std::swap(tests_, program_->tests);
}

namespace {

// "aten::index" of "aten::index.Tensor".
std::string without_overload(const std::string &op) {
  return op.substr(0, op.find('.'));
}

const std::set<std::string> &comparisons() {
  static const std::set<std::string> ops = {"aten::gt", "aten::ge", "aten::lt", "aten::le"};
  return ops;
}

// Operators whose result has a size that depends on values. For aten::index, only a mask does this.
const std::set<std::string> &ops_of_size() {
  static const std::set<std::string> ops = {
      "aten::index",         "aten::nonzero",    "aten::nonzero_numpy",     "aten::argwhere",
      "aten::masked_select", "torchvision::nms", "aten::_unique2",          "aten::unique_dim",
      "aten::_unique",       "aten::where",      "aten::unique_consecutive"};
  return ops;
}

bool is_of_size(const std::string &op) {
  return ops_of_size().count(op);
}

bool is_filter(const std::string &op) {
  return comparisons().count(op) || is_of_size(op);
}

bool is_mask(const Tensor &t) {
  return t.defined() && (t.dtype() == RUSH_BOOL || t.dtype() == RUSH_UINT8);
}

bool same(const Filter &a, const Filter &b) {
  return a.op == b.op &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    [](const Tensor &x, const Tensor &y) { return x.equal(y); });
}

// Returns the tensor operands of a filter; those from *indices on select elements.
std::vector<Value *> operands(const Node &node, size_t *indices) {
  std::vector<Value *> out;
  for (Value *v : node.inputs) {
    const Node *list = v->def && v->def->op == "prim::ListConstruct" ? v->def : nullptr;
    if (list) *indices = out.size();
    for (Value *item : list ? list->inputs : std::vector<Value *>{v})
      if (!item->is_constant() && item->type->kind == RUSH_TYPE_TENSOR) out.push_back(item);
  }
  return out;
}

// An operator whose operands are the observed values from `first` on.
struct Place {
  const Node *node;
  size_t first, count, indices;
};

std::string place_text(const Node &node) {
  const std::string op = without_overload(node.op);
  if (node.source.file.empty()) return op;
  return op + " at " + node.source.file + ":" + std::to_string(node.source.line);
}

}  // namespace

std::vector<std::string> filter_ops() {
  std::vector<std::string> out(comparisons().begin(), comparisons().end());
  out.insert(out.end(), ops_of_size().begin(), ops_of_size().end());
  return out;
}

std::optional<Filter> filter_of(const std::string &op, const std::vector<Tensor> &tensors,
                                size_t indices) {
  if (op == "aten::index" &&
      std::none_of(tensors.begin() + static_cast<std::ptrdiff_t>(indices), tensors.end(), is_mask))
    return std::nullopt;
  if (op == "aten::where" && tensors.size() != 1) return std::nullopt;
  Filter out = {op, {}, is_of_size(op), ""};
  for (const Tensor &t : tensors)
    if (t.defined() && t.is_floating_point() && t.dim() > 0 && t.is_strided())
      out.tensors.push_back(t.clone());
  if (out.tensors.empty() && !out.is_of_size) return std::nullopt;
  return out;
}

void add_filter(std::vector<Filter> *all, std::optional<Filter> more) {
  if (more &&
      std::none_of(all->begin(), all->end(), [&](const Filter &f) { return same(f, *more); }))
    all->push_back(std::move(*more));
}

Filters::Filters(const Program &program) {
  for (const Node *node : all_nodes(*program.methods[0].graph))
    if (node->source.handle && is_filter(without_overload(node->op)))
      known_.emplace_back(node->source.handle, without_overload(node->op));
  std::sort(known_.begin(), known_.end());
}

bool Filters::any_of_size() const {
  return std::any_of(known_.begin(), known_.end(),
                     [](const auto &known) { return is_of_size(known.second); });
}

std::vector<Filter> Filters::during(Program *program, const std::vector<Const> &args,
                                    const Opener &open, std::set<const Node *> *of_size) const {
  std::vector<Place> places;
  std::vector<Value *> values;
  InsertedCalls copies;
  for (const auto &node : program->methods[0].graph->top.nodes) {
    const std::string op = without_overload(node->op);
    if (!std::binary_search(known_.begin(), known_.end(), std::pair(node->source.handle, op)))
      continue;
    size_t indices = 0;
    const std::vector<Value *> of = operands(*node, &indices);
    places.push_back({node.get(), values.size(), of.size(), indices});
    for (Value *v : of) values.push_back(copies.copy_before(node.get(), v));
  }
  std::vector<Filter> out;
  if (values.empty()) return out;
  const Observing observing(program, 0, values);
  const std::unique_ptr<NativeSession> session = open(*program);
  session->manual_seed(RUSH_TEST_SEED);
  const Const got = session->run(0, args);
  for (const Place &place : places) {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < place.count; i++) tensors.push_back(got.items[place.first + i].tensor);
    auto filter = filter_of(without_overload(place.node->op), tensors, place.indices);
    if (filter) filter->where = place_text(*place.node);
    if (filter && filter->is_of_size && of_size) of_size->insert(place.node);
    add_filter(&out, std::move(filter));
  }
  return out;
}

}  // namespace rush
