#include "quantize/matched_rows.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rush {

namespace {

// Boxes with a smaller overlap do not match.
constexpr double kOverlap = 0.5;

// Returns whether a value depends on one of these nodes.
bool depends_on(const Value *value, const std::set<const Node *> &filters) {
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

using Row = std::vector<double>;

// Returns the elements of each row of a tensor.
std::vector<Row> rows_of(const Tensor &t) {
  const std::vector<double> values = t.doubles();
  std::vector<Row> out(static_cast<size_t>(t.size(0)));
  const size_t columns = out.empty() ? 0 : values.size() / out.size();
  for (size_t i = 0; i < out.size(); i++)
    out[i].assign(values.begin() + static_cast<std::ptrdiff_t>(i * columns),
                  values.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
  return out;
}

double area(double width, double height) {
  return std::max(width, 0.) * std::max(height, 0.);
}

// Returns the intersection over union of two boxes (x1, y1, x2, y2).
double overlap(const Row &a, const Row &b) {
  const double both = area(std::min(a[2], b[2]) - std::max(a[0], b[0]),
                           std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const double all = area(a[2] - a[0], a[3] - a[1]) + area(b[2] - b[0], b[3] - b[1]) - both;
  return both / std::max(all, 1e-30);
}

double distance(const Row &a, const Row &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

bool is_boxes(const Tensor &t) {
  return t.dim() == 2 && t.size(1) == 4 && t.is_floating_point();
}

template <class F>
std::vector<Row> for_pairs(const std::vector<Row> &a, const std::vector<Row> &b, F f) {
  std::vector<Row> out;
  for (const Row &x : a) {
    Row &row = out.emplace_back();
    for (const Row &y : b) row.push_back(f(x, y));
  }
  return out;
}

void append_rows(std::vector<Row> *to, const std::vector<Row> &from) {
  to->resize(from.size());
  for (size_t i = 0; i < from.size(); i++)
    (*to)[i].insert((*to)[i].end(), from[i].begin(), from[i].end());
}

// Returns the similarity of each of PyTorch's rows to each row of the file: the overlap of boxes, else it
// rises as the distance falls.
std::vector<Row> likeness(const std::vector<Tensor> &got, const std::vector<Tensor> &want) {
  std::vector<Row> a, b;
  bool any = false;
  for (size_t i = 0; i < want.size(); i++) {
    if (is_boxes(want[i]))
      return for_pairs(rows_of(want[i]), rows_of(got[i]),
                       [](const Row &x, const Row &y) { return overlap(x, y) - kOverlap; });
    if (!want[i].is_floating_point()) continue;
    any = true;
    append_rows(&a, rows_of(want[i]));
    append_rows(&b, rows_of(got[i]));
  }
  if (!any)
    return std::vector<Row>(static_cast<size_t>(want[0].size(0)),
                            Row(static_cast<size_t>(got[0].size(0)), 0));
  std::vector<Row> out = for_pairs(a, b, distance);
  double most = 0;
  for (const Row &row : out)
    for (const double x : row) most = std::max(most, x);
  for (Row &row : out)
    for (double &x : row) x = most - x;
  return out;
}

// Matches each of PyTorch's rows, in order, to the most similar row that is left.
void match(std::vector<Row> left, std::vector<int64_t> *theirs, std::vector<int64_t> *own) {
  for (size_t i = 0; i < left.size() && !left[i].empty(); i++) {
    const auto best = std::max_element(left[i].begin(), left[i].end());
    if (*best < 0) continue;
    const auto j = best - left[i].begin();
    theirs->push_back(static_cast<int64_t>(i));
    own->push_back(j);
    for (Row &row : left) row[static_cast<size_t>(j)] = -1;
  }
}

// These rows of a tensor.
Const selected(const Tensor &t, const std::vector<int64_t> &rows) {
  const Tensor dense = t.contiguous();
  Sizes sizes = t.sizes();
  sizes[0] = static_cast<int64_t>(rows.size());
  const Tensor out = Tensor::zeros(t.dtype(), sizes);
  const size_t bytes = rows.empty() ? 0 : out.nbytes() / rows.size();
  for (size_t i = 0; i < rows.size(); i++)
    std::copy_n(dense.bytes() + static_cast<size_t>(rows[i]) * bytes, bytes,
                static_cast<char *>(out.storage()->data) + i * bytes);
  return const_tensor(out);
}

// Tensors of one answer with the same number of rows.
struct Group {
  std::vector<Tensor> got, want;

  bool takes(const Tensor &a, const Tensor &b) const {
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
    add_distance(selected(group.got[i], own), selected(group.want[i], theirs), out);
}

bool fits(const Tensor &got, const Tensor &want) {
  return got.dtype() == want.dtype() && got.dim() == want.dim() && want.dim() > 0 &&
         std::equal(got.sizes().begin() + 1, got.sizes().end(), want.sizes().begin() + 1);
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
  if (!depends_on(value, filters)) return add_distance(got, want, out);
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
