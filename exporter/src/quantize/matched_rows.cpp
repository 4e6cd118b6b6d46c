#include "quantize/matched_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

namespace rush {

namespace {

// Boxes with a smaller overlap do not match.
constexpr double kOverlap = 0.5;

// Whether a value depends on one of these nodes.
bool is_behind(const Value *value, const std::set<const Node *> &filters) {
  std::vector<const Value *> todo = {value};
  std::set<const Value *> seen = {value};
  while (!todo.empty()) {
    const Node *node = todo.back()->def;
    todo.pop_back();
    if (!node) continue;
    if (!node->blocks.empty() || filters.count(node)) return true;
    for (const Value *v : node->inputs)
      if (seen.insert(v).second) todo.push_back(v);
  }
  return false;
}

// The overlaps of all pairs of boxes (x, y, x, y).
at::Tensor overlaps(const at::Tensor &a, const at::Tensor &b) {
  const at::Tensor low = at::maximum(a.slice(1, 0, 2).unsqueeze(1), b.slice(1, 0, 2).unsqueeze(0));
  const at::Tensor high = at::minimum(a.slice(1, 2, 4).unsqueeze(1), b.slice(1, 2, 4).unsqueeze(0));
  const auto area = [](const at::Tensor &t) { return t.clamp_min(0).prod(-1); };
  const at::Tensor both = area(high - low);
  const at::Tensor all = area(a.slice(1, 2, 4) - a.slice(1, 0, 2)).unsqueeze(1) +
                         area(b.slice(1, 2, 4) - b.slice(1, 0, 2)).unsqueeze(0) - both;
  return both / all.clamp_min(1e-30);
}

bool is_boxes(const at::Tensor &t) {
  return t.dim() == 2 && t.size(1) == 4 && t.is_floating_point();
}

// The similarity of each of PyTorch's rows to each row of the file: the overlap of boxes, else it rises
// as the distance falls.
at::Tensor likeness(const std::vector<at::Tensor> &got, const std::vector<at::Tensor> &want) {
  std::vector<at::Tensor> a, b;
  for (size_t i = 0; i < want.size(); i++) {
    if (is_boxes(want[i]))
      return overlaps(want[i].to(at::kDouble), got[i].to(at::kDouble)) - kOverlap;
    if (!want[i].is_floating_point()) continue;
    a.push_back(want[i].to(at::kDouble).reshape({want[i].size(0), -1}));
    b.push_back(got[i].to(at::kDouble).reshape({got[i].size(0), -1}));
  }
  if (a.empty()) return at::zeros({want[0].size(0), got[0].size(0)}, at::kDouble);
  const at::Tensor distances = at::cdist(at::cat(a, 1), at::cat(b, 1));
  return distances.numel() > 0 ? distances.max() - distances : distances;
}

// Matches each of PyTorch's rows, in order, to the most similar row that is left.
void match(const at::Tensor &alike, std::vector<int64_t> *theirs, std::vector<int64_t> *own) {
  at::Tensor left = alike.clone();
  for (int64_t i = 0; i < left.size(0) && left.size(1) > 0; i++) {
    const int64_t j = left[i].argmax().item<int64_t>();
    if (left[i][j].item<double>() < 0) continue;
    theirs->push_back(i);
    own->push_back(j);
    left.select(1, j).fill_(-1);
  }
}

// Tensors of one answer with the same number of rows.
struct Group {
  std::vector<at::Tensor> got, want;

  bool takes(const at::Tensor &a, const at::Tensor &b) const {
    return want.empty() || (want[0].size(0) == b.size(0) && got[0].size(0) == a.size(0));
  }
};

void add_group(const Group &group, Quantized *out) {
  if (group.want.empty()) return;
  std::vector<int64_t> theirs, own;
  match(likeness(group.got, group.want), &theirs, &own);
  out->has_rows = true;
  out->rows += static_cast<size_t>(group.want[0].size(0));
  out->rushlight_rows += static_cast<size_t>(group.got[0].size(0));
  out->matched_rows += own.size();
  for (size_t i = 0; i < group.want.size() && !own.empty(); i++)
    add_distance(const_tensor(group.got[i].index_select(0, at::tensor(own))),
                 const_tensor(group.want[i].index_select(0, at::tensor(theirs))), out);
}

bool fits(const at::Tensor &got, const at::Tensor &want) {
  return got.scalar_type() == want.scalar_type() && got.dim() == want.dim() && want.dim() > 0 &&
         got.sizes().slice(1) == want.sizes().slice(1);
}

// Adds values that depend on filters. Neighbouring tensors of a container may form one group.
void add_rows(const Const &got, const Const &want, Group *group, Quantized *out) {
  if (want.tensor.defined() && got.tensor.defined() && fits(got.tensor, want.tensor)) {
    if (!group->takes(got.tensor, want.tensor)) {
      add_group(*group, out);
      *group = {};
    }
    group->got.push_back(got.tensor);
    group->want.push_back(want.tensor);
    return;
  }
  if (want.items.empty() || got.items.size() != want.items.size())
    return add_distance(got, want, out);
  Group inner;
  for (size_t i = 0; i < want.items.size(); i++) add_rows(got.items[i], want.items[i], &inner, out);
  add_group(inner, out);
}

bool is_container(const Node *node, const Const &value) {
  return node && (node->op == "prim::TupleConstruct" || node->op == "prim::ListConstruct") &&
         node->inputs.size() == value.items.size();
}

void add_value(const Const &got, const Const &want, const Value *value,
               const std::set<const Node *> &filters, Group *group, Quantized *out) {
  if (!is_behind(value, filters)) return add_distance(got, want, out);
  if (!is_container(value->def, want) || got.items.size() != want.items.size())
    return add_rows(got, want, group, out);
  Group inner;
  for (size_t i = 0; i < want.items.size(); i++)
    add_value(got.items[i], want.items[i], value->def->inputs[i], filters, &inner, out);
  add_group(inner, out);
}

}  // namespace

void add_matched(const Const &got, const Const &want, const Value *result,
                 const std::set<const Node *> &filters, Quantized *out) {
  Group group;
  add_value(got, want, result, filters, &group, out);
  add_group(group, out);
}

}  // namespace rush
