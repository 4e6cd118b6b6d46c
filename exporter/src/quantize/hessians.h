// How the errors of a layer's weights change its outputs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "quantize/error_feedback.h"
#include "quantize/product_sum.h"
#include "quantize/quantize.h"

namespace rush {

// Equal for weights with the same elements in memory.
using WeightKey = std::tuple<const char *, Sizes, Sizes>;
inline WeightKey key_of(const Tensor &weight) {
  return {weight.bytes(), weight.sizes(), weight.strides()};
}

// X^T X of the inputs [..., columns] of layers, by runs of the first method. The matrices of some
// layers at a time are in memory, so that the method runs again for the next ones, whose inputs
// then come from layers that have fewer bits.
class Hessians {
 public:
  // All nodes must be in the top block of the first method, in its order, and `input` and `weight`
  // are the indices of arguments. Nodes that share a weight share a matrix.
  Hessians(Program &program, const std::vector<Node *> &layers, size_t input, size_t weight,
           const std::vector<Batch> &batches, const Opener &open);

  // Returns the feedback of a layer. It must be asked for layers in their order, before each is
  // replaced. Other nodes, layers whose matrix would have more than 1 GiB, and layers none of whose
  // batches has only finite inputs, have none.
  std::shared_ptr<const ErrorFeedback> of(const Node *layer);
  // Returns why a layer has none although there are batches. The layer's path completes the
  // sentence.
  std::string why_uncalibrated(const Node &layer) const;
  bool has_batches() const { return !batches_.empty(); }

 private:
  struct Layer {
    std::vector<Node *> nodes;  // which share the weight
    size_t columns;
    std::vector<Value *> inputs(size_t input) const;
  };
  using Sums = std::map<std::vector<Value *>, ProductSum>;
  Sums sums_from(size_t first, std::vector<Node *> *nodes) const;
  void run(const std::vector<Node *> &nodes, Sums *sums);
  void run_from(size_t first);

  Program &program_;
  const size_t input_;
  const std::vector<Batch> &batches_;
  const Opener &open_;
  size_t limit_;  // of the matrices' bytes
  std::vector<Layer> layers_;
  std::map<const Node *, size_t> place_;  // of the first node of each layer
  std::map<size_t, std::shared_ptr<const ErrorFeedback>> known_;
};

}  // namespace rush
