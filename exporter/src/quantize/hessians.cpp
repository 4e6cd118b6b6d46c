#include "quantize/hessians.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/inserted_calls.h"
#include "quantize/parallel_for.h"
#include "run/observe.h"

namespace rush {

namespace {

constexpr size_t kLeastLimit = size_t{16} << 20;
constexpr size_t kShare = 4;  // the matrices take at most 1 / kShare of the bytes of the weights
constexpr size_t kLargestMatrix = size_t{1} << 30;  // bytes: 11,585 columns

// Returns an input as floats [rows, columns], computed before `layer`.
Value *rows_before(Node *layer, Value *input, InsertedCalls *inserted) {
  const auto number = [&](int64_t n) { return layer->block->graph->constant(const_int(n)); };
  Value *x = inserted->copy_before(layer, input);
  x = inserted->before(layer, "aten::to.dtype", {x, number(int64_t{RUSH_FLOAT32})});
  x = inserted->before(layer, "aten::unsqueeze", {x, number(0)});
  return inserted->before(layer, "aten::flatten.using_ints", {x, number(0), number(-2)});
}

// While it lives, a block ends with this node.
class Shortened {
 public:
  explicit Shortened(Node *last) : block_(*last->block) {
    rest_.splice(rest_.begin(), block_.nodes, std::next(last->place), block_.nodes.end());
  }
  ~Shortened() { block_.nodes.splice(block_.nodes.end(), rest_); }
  Shortened(const Shortened &) = delete;

 private:
  Block &block_;
  NodeList rest_;
};

void add_to(ProductSum *sum, const Tensor &input) {
  const Tensor rows = input.contiguous();
  if (rows.all_finite())
    sum->add(reinterpret_cast<const float *>(rows.bytes()), static_cast<size_t>(rows.size(0)));
}

size_t weight_bytes(const Program &program) {
  std::set<const char *> counted;
  size_t bytes = 0;
  for (const Node *node : all_nodes(*program.methods[0].graph))
    for (size_t i = 0; i < node->inputs.size(); i++)
      if (const Const *c = node->constant(i); c && c->is_tensor())
        if (counted.insert(c->tensor.bytes()).second) bytes += c->tensor.nbytes();
  return bytes;
}

size_t matrix_bytes(size_t columns) {
  return columns * columns * sizeof(double);
}

}  // namespace

Hessians::Hessians(Program &program, const std::vector<Node *> &layers, size_t input, size_t weight,
                   const std::vector<Batch> &batches, const Opener &open)
    : program_(program),
      input_(input),
      batches_(batches),
      open_(open),
      limit_(std::max(kLeastLimit, weight_bytes(program) / kShare)) {
  std::map<WeightKey, size_t> of_weight;
  for (Node *node : layers) {
    const Tensor &w = node->constant(weight)->tensor;
    if (matrix_bytes(static_cast<size_t>(w.size(1))) > kLargestMatrix) continue;
    const auto [at, is_new] = of_weight.emplace(key_of(w), layers_.size());
    if (is_new) {
      layers_.push_back({{}, static_cast<size_t>(w.size(1))});
      place_[node] = at->second;
    }
    layers_[at->second].nodes.push_back(node);
  }
}

std::vector<Value *> Hessians::Layer::inputs(size_t input) const {
  std::vector<Value *> out;
  for (const Node *node : nodes)
    if (std::find(out.begin(), out.end(), node->input(input)) == out.end())
      out.push_back(node->input(input));
  return out;
}

std::shared_ptr<const ErrorFeedback> Hessians::of(const Node *layer) {
  const auto place = place_.find(layer);
  if (place == place_.end() || batches_.empty()) return std::make_shared<const ErrorFeedback>();
  if (!known_.count(place->second)) run_from(place->second);
  return known_.at(place->second);
}

std::string Hessians::why_uncalibrated(const Node &layer) const {
  const Method &first = program_.methods[0];
  const std::string without = " are rounded without calibration";
  if (layer.block != &first.graph->top)
    return "layers outside of '" + first.name + "', or in its loops and branches," + without;
  if (!place_.count(&layer))
    return "layers of so many inputs that their matrix exceeds 1 GiB" + without;
  return "layers whose inputs are never finite, or always 0, during calibration" + without;
}

Hessians::Sums Hessians::sums_from(size_t first, std::vector<Node *> *nodes) const {
  Sums sums;
  std::set<const Node *> chosen;
  size_t bytes = 0;
  for (size_t i = first; i < layers_.size(); i++) {
    const std::vector<Value *> inputs = layers_[i].inputs(input_);
    const size_t columns = layers_[i].columns;
    const size_t more = sums.count(inputs) ? 0 : matrix_bytes(columns);
    if (i > first && bytes + more > limit_) break;
    bytes += more;
    sums.emplace(inputs, columns);
    chosen.insert(layers_[i].nodes.begin(), layers_[i].nodes.end());
  }
  for (auto &node : program_.methods[0].graph->top.nodes)
    if (chosen.count(node.get())) nodes->push_back(node.get());
  return sums;
}

// Runs the method up to the last of these nodes, which are in its order.
void Hessians::run(const std::vector<Node *> &nodes, Sums *sums) {
  InsertedCalls inserted;
  std::vector<Value *> inputs, rows;
  for (Node *node : nodes) {
    if (std::count(inputs.begin(), inputs.end(), node->input(input_))) continue;
    inputs.push_back(node->input(input_));
    rows.push_back(rows_before(node, inputs.back(), &inserted));
  }
  const Shortened shortened(nodes.back());
  const Observing observing(&program_, 0, rows);
  const std::unique_ptr<NativeSession> session = open_(program_);
  session->check(
      rush_ctx_set_threads(session->ctx(), std::min(processors(), unsigned{RUSH_MAX_THREADS})));
  for (const Batch &batch : batches_) {
    session->reset();
    session->manual_seed(RUSH_TEST_SEED);
    const Const got = run_batch(session.get(), batch);
    for (auto &[of, sum] : *sums)
      for (size_t i = 0; i < inputs.size(); i++)
        if (std::count(of.begin(), of.end(), inputs[i])) add_to(&sum, got.items[i].tensor);
  }
}

// Finds the feedback of as many layers as the limit allows.
void Hessians::run_from(size_t first) {
  known_.clear();
  std::vector<Node *> nodes;
  Sums sums = sums_from(first, &nodes);
  run(nodes, &sums);
  std::map<std::vector<Value *>, std::shared_ptr<const ErrorFeedback>> created;
  for (auto &[inputs, sum] : sums)
    created[inputs] = std::make_shared<const ErrorFeedback>(sum.finish());
  for (size_t i = first; i < layers_.size(); i++) {
    const auto found = created.find(layers_[i].inputs(input_));
    if (found == created.end()) break;
    known_[i] = found->second;
  }
}

}  // namespace rush
