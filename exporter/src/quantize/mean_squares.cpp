#include "quantize/mean_squares.h"

#include "ir/graph.h"
#include "run/observe.h"

namespace rush {

namespace {

// Nodes that compute the mean squares. They are removed at the end.
class Inserted {
 public:
  explicit Inserted(Graph &graph) : graph_(graph) {}
  ~Inserted() {
    for (auto at = nodes_.rbegin(); at != nodes_.rend(); ++at) (*at)->destroy();
  }
  Inserted(const Inserted &) = delete;

  // Returns the mean squares of the columns of an input, computed before `layer`.
  Value *mean_squares(Node *layer, size_t input) {
    const auto number = [&](int64_t n) { return graph_.constant(const_int(n)); };
    const auto numbers = [&](const std::vector<int64_t> &n) {
      return graph_.constant(const_ints(n));
    };
    Value *x = add(layer, "aten::to.dtype", {layer->input(input), number(int64_t{RUSH_FLOAT32})});
    x = add(layer, "aten::mul.Tensor", {x, x});
    x = add(layer, "aten::flatten.using_ints",
            {add(layer, "aten::unsqueeze", {x, number(0)}), number(0), number(-2)});
    return add(
        layer, "aten::mean.dim",
        {x, numbers({0}), graph_.constant(const_bool(false)), graph_.constant(const_none())});
  }

 private:
  Value *add(Node *before, const char *op, const std::vector<Value *> &inputs) {
    Value *made = insert_call(before, op, inputs);
    nodes_.push_back(made->def);
    return made;
  }

  Graph &graph_;
  std::vector<Node *> nodes_;
};

void add_to(std::vector<float> *sum, const std::vector<float> &more) {
  sum->resize(more.size());
  for (size_t i = 0; i < more.size(); i++) (*sum)[i] += more[i];
}

}  // namespace

std::map<const Node *, std::vector<float>> mean_squares(Program &program,
                                                        const std::vector<Node *> &layers,
                                                        size_t input,
                                                        const std::vector<Batch> &batches,
                                                        const Opener &open) {
  std::map<const Node *, std::vector<float>> out;
  Inserted inserted(*program.methods[0].graph);
  std::vector<Value *> values;
  values.reserve(layers.size());
  for (Node *layer : layers) values.push_back(inserted.mean_squares(layer, input));
  const Observing observing(&program, 0, values);
  const std::unique_ptr<NativeSession> session = open(program);
  for (const Batch &batch : batches) {
    session->reset();
    const Const got = run_batch(session.get(), batch);
    for (size_t i = 0; i < layers.size(); i++)
      add_to(&out[layers[i]], got.items[i].tensor.floats());
  }
  return out;
}

}  // namespace rush
