// Rolls up a loop of Python that tracing has unrolled: iterations of the same nodes, whose values
// come from an earlier iteration or from outside, or count.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "ir/repetition.h"
#include "passes/passes.h"

namespace rush {

namespace {

constexpr size_t kLeastIterations = 16, kLeastNodes = 1000;  // fewer are not worth a loop
constexpr size_t kMostLag = 4;  // a value may come from this many iterations before

// Describes a node except for its values.
std::string text_of(const Node &node, size_t place) {
  std::string out = node.op + " " + node.source.file + ":" + std::to_string(node.source.line) +
                    " " + std::to_string(node.outputs.size());
  if (!node.blocks.empty()) out += " " + std::to_string(place);  // no other node is equal
  for (const Value *v : node.inputs)
    out += !v->is_constant() ? " %" : v->constant->is_int() ? " #" : " " + to_string(*v->constant);
  return out;
}

// The origin of an argument.
struct Origin {
  enum { SAME, LOCAL, CARRIED, NUMBER, ITEM } kind = SAME;
  Value *value = nullptr;       // SAME
  size_t node = 0, output = 0;  // LOCAL, CARRIED: of an iteration
  size_t lag = 0;               // CARRIED: from this many iterations before
  int64_t first = 0, step = 0;  // NUMBER; ITEM: its place in
  Node *unpacked = nullptr;     // the node that unpacks the list
};

using Result = std::pair<size_t, size_t>;  // of an iteration: node, output

// Values that an iteration hands to the next: item k is a result of k + 1 iterations before.
struct Chain {
  std::array<Value *, kMostLag> initial = {};
  size_t length = 0;
};

// A list that takes a result of each iteration, from `first` on.
struct Gathering {
  Node *construct;
  size_t first;
};

class Rerolling {
 public:
  Rerolling(Graph &graph, const std::vector<Node *> &nodes, const Repetition &found)
      : graph_(graph), nodes_(nodes), at_(found), end_(at_.begin + at_.period * at_.count) {
    for (size_t i = 0; i < nodes.size(); i++) places_[nodes[i]] = i;
  }

  // Returns whether the iterations form a loop.
  bool plan() {
    for (size_t j = 0; j < at_.period; j++)
      for (size_t i = 0; i < node(0, j)->inputs.size(); i++) {
        origins_.emplace_back();
        if (!find_origin(j, i, &origins_.back())) return false;
      }
    for (size_t j = 0; j < at_.period; j++)
      for (size_t o = 0; o < node(0, j)->outputs.size(); o++)
        if (!find_uses({j, o})) return false;
    return true;
  }

  void apply() {
    Node *first = node(0, 0);
    for (const auto &[result, list] : gatherings_) begin_list(result, list, first);
    loop_ = graph_.insert_before(first, "prim::Loop");
    loop_->add_input(graph_.constant(const_int(static_cast<int64_t>(at_.count))));
    loop_->add_input(graph_.constant(const_bool(true)));
    body_ = loop_->add_block();
    body_->add_param(make_type(RUSH_TYPE_INT), "iteration");
    for (auto &[result, chain] : chains_) carry(result, chain);
    auto origin = origins_.begin();
    for (size_t j = 0; j < at_.period; j++) copy(j, &origin);
    for (const auto &[result, list] : lists_) append_to(list, local(result));
    return_carried();
    for (const auto &[result, list] : gatherings_) end_list(result, list);
    for (size_t i = end_; i-- > at_.begin;) nodes_[i]->destroy();
    for (Node *unpacked : unpacked_)
      if (!unpacked->has_uses()) unpacked->destroy();
  }

 private:
  Node *node(size_t iteration, size_t j) const {
    return nodes_[at_.begin + iteration * at_.period + j];
  }

  bool is_inside(const Node *n) const {
    const auto found = places_.find(n);
    return found != places_.end() && found->second >= at_.begin && found->second < end_;
  }
  bool is_before(const Value *v) const {
    const auto found = places_.find(v->def);
    return found == places_.end() || found->second < at_.begin;
  }
  size_t iteration_of(const Node *n) const { return (places_.at(n) - at_.begin) / at_.period; }
  size_t step_of(const Node *n) const { return (places_.at(n) - at_.begin) % at_.period; }

  std::vector<Value *> inputs(size_t j, size_t i) const {
    std::vector<Value *> out;
    for (size_t r = 0; r < at_.count; r++) out.push_back(node(r, j)->input(i));
    return out;
  }

  // Returns whether f(r) = f(0) + r * step holds for all iterations.
  template <class F>
  bool counts(F f, Origin *out) const {
    out->first = f(0);
    out->step = f(1) - f(0);
    for (size_t r = 2; r < at_.count; r++)
      if (f(r) - f(r - 1) != out->step) return false;
    return true;
  }

  bool find_origin(size_t j, size_t i, Origin *out) {
    const std::vector<Value *> given = inputs(j, i);
    const Value *last = given.back();
    if (last->is_constant()) return find_constant(given, out);
    if (is_inside(last->def)) return find_carried(given, out);
    out->value = given[0];
    return std::all_of(given.begin(), given.end(), [&](Value *v) { return v == given[0]; }) ||
           find_item(given, out);
  }

  bool find_constant(const std::vector<Value *> &given, Origin *out) const {
    out->value = given[0];
    bool all_same = true;
    for (const Value *v : given) {
      if (!v->is_constant()) return false;
      all_same = all_same && same(*v->constant, *given[0]->constant);
    }
    if (all_same) return true;
    for (const Value *v : given)
      if (!v->constant->is_int()) return false;
    out->kind = Origin::NUMBER;
    return counts([&](size_t r) { return given[r]->constant->i; }, out);
  }

  bool find_carried(const std::vector<Value *> &given, Origin *out) {
    const Value *last = given.back();
    out->node = step_of(last->def);
    out->output = last->index;
    out->lag = at_.count - 1 - iteration_of(last->def);
    out->kind = out->lag == 0 ? Origin::LOCAL : Origin::CARRIED;
    if (out->lag > kMostLag) return false;
    for (size_t r = out->lag; r < at_.count; r++)
      if (given[r] != node(r - out->lag, out->node)->output(out->output)) return false;
    if (out->lag == 0) return true;
    Chain &chain = chains_[{out->node, out->output}];
    chain.length = std::max(chain.length, out->lag);
    for (size_t r = 0; r < out->lag; r++) {
      Value *&initial = chain.initial[out->lag - 1 - r];
      if (is_inside(given[r]->def) || !equal(*given[r]->type, *last->type)) return false;
      if (initial && initial != given[r]) return false;
      initial = given[r];
    }
    return true;
  }

  // Returns whether the argument is an item of a list that nothing else uses.
  bool find_item(const std::vector<Value *> &given, Origin *out) {
    out->unpacked = given[0]->def;
    for (const Value *v : given)
      if (!v->def || v->def != out->unpacked || v->def->op != "prim::ListUnpack") return false;
    for (const Use &use : out->unpacked->input(0)->uses)
      if (use.node->op != "prim::ListUnpack") return false;
    unpacked_.push_back(out->unpacked);
    out->kind = Origin::ITEM;
    return counts([&](size_t r) { return static_cast<int64_t>(given[r]->index); }, out);
  }

  // Uses of a result after the loop: of the last iterations, or of each one in order in one list.
  bool find_uses(const Result &result) {
    std::vector<Use> early;
    for (size_t r = 0; r < at_.count; r++)
      for (const Use &use : node(r, result.first)->output(result.second)->uses) {
        if (is_inside(use.node)) continue;
        if (use.node->op == "prim::ListConstruct" && places_.count(use.node))
          early.push_back(use);
        else if (at_.count - r <= kMostLag)
          chains_[result].length = std::max(chains_[result].length, at_.count - r);
        else
          return false;
      }
    if (early.empty()) return true;
    Node *construct = early[0].node;
    const size_t first = early[0].index;
    if (early.size() != at_.count) return false;
    for (size_t r = 0; r < at_.count; r++)
      if (early[r].node != construct || early[r].index != first + r) return false;
    for (size_t i = 0; i < first; i++)
      if (!construct->input(i)->is_constant() && !is_before(construct->input(i))) return false;
    for (const auto &[other, list] : gatherings_)
      if (list.construct == construct) return false;
    gatherings_[result] = {construct, first};
    return true;
  }

  void begin_list(const Result &result, const Gathering &list, Node *before) {
    Node *empty = graph_.insert_before(before, "prim::ListConstruct");
    for (size_t i = 0; i < list.first; i++) empty->add_input(list.construct->input(i));
    lists_[result] =
        empty->add_output(list.construct->output()->type, list.construct->output()->name);
  }

  void carry(const Result &result, const Chain &chain) {
    const Value *like = node(0, result.first)->output(result.second);
    for (size_t k = 0; k < chain.length; k++) {
      // If only the last iterations use a value, nothing reads it earlier.
      loop_->add_input(chain.initial[k] ? chain.initial[k] : graph_.constant(const_none()));
      carried_[result].push_back(body_->add_param(like->type));
      after_[result].push_back(loop_->add_output(like->type, like->name));
    }
  }

  Value *number(int64_t first, int64_t step) {
    Value *&created = numbers_[{first, step}];
    if (created) return created;
    created = body_->params[0];
    if (step != 1) created = calculate("aten::mul.int", created, step);
    if (first != 0) created = calculate("aten::add.int", created, first);
    return created;
  }
  Value *calculate(const char *op, Value *a, int64_t b) {
    Node *out = append(op);
    out->add_input(a);
    out->add_input(graph_.constant(const_int(b)));
    return out->add_output(make_type(RUSH_TYPE_INT));
  }
  Node *append(const std::string &op) {
    Node *out = body_->append(op);
    out->source = loop_->source;
    return out;
  }

  Value *item(const Origin &origin) {
    Value *&created = items_[{origin.unpacked, {origin.first, origin.step}}];
    if (created) return created;
    Value *index = number(origin.first, origin.step);
    Node *get = append("aten::__getitem__.t");
    get->add_input(origin.unpacked->input(0));
    get->add_input(index);
    return created = get->add_output(origin.unpacked->output()->type);
  }

  Value *local(const Result &result) const { return copies_[result.first]->output(result.second); }

  Value *value_of(const Origin &origin) {
    switch (origin.kind) {
      case Origin::LOCAL:
        return local({origin.node, origin.output});
      case Origin::CARRIED:
        return carried_[{origin.node, origin.output}][origin.lag - 1];
      case Origin::NUMBER:
        return number(origin.first, origin.step);
      case Origin::ITEM:
        return item(origin);
      default:
        return origin.value;
    }
  }

  void copy(size_t j, std::vector<Origin>::iterator *origin) {
    const Node *from = node(0, j);
    std::vector<Value *> given;
    for (size_t i = 0; i < from->inputs.size(); i++) given.push_back(value_of(*(*origin)++));
    Node *to = body_->append(from->op);
    to->source = from->source;
    to->source.handle = 0;  // a handle belongs to one node
    for (Value *v : given) to->add_input(v);
    for (const Value *v : from->outputs) to->add_output(v->type, v->name);
    copies_.push_back(to);
  }

  void append_to(Value *list, Value *value) {
    Node *out = append("aten::append.t");
    out->add_input(list);
    out->add_input(value);
    out->add_output(list->type);
  }

  void return_carried() {
    body_->results.add_input(graph_.constant(const_bool(true)));
    for (const auto &[result, chain] : chains_)
      for (size_t k = 0; k < chain.length; k++) {
        body_->results.add_input(k == 0 ? local(result) : carried_[result][k - 1]);
        Value *old = node(at_.count - 1 - k, result.first)->output(result.second);
        for (const Use &use : std::vector<Use>(old->uses))
          if (!is_inside(use.node) && use.node->op != "prim::ListConstruct")
            use.node->set_input(use.index, after_[result][k]);
      }
  }

  void end_list(const Result &result, const Gathering &list) {
    for (size_t i = list.first + at_.count; i < list.construct->inputs.size(); i++) {
      Node *more = graph_.insert_before(list.construct, "aten::append.t");
      more->add_input(lists_[result]);
      more->add_input(list.construct->input(i));
      more->add_output(lists_[result]->type);
    }
    list.construct->output()->replace_all_uses_with(lists_[result]);
    list.construct->destroy();
  }

  Graph &graph_;
  const std::vector<Node *> &nodes_;
  const Repetition at_;
  const size_t end_;
  std::unordered_map<const Node *, size_t> places_;
  std::vector<Origin> origins_;  // of all arguments of an iteration
  std::map<Result, Chain> chains_;
  std::map<Result, Gathering> gatherings_;
  std::vector<Node *> unpacked_;

  Node *loop_ = nullptr;
  Block *body_ = nullptr;
  std::map<Result, std::vector<Value *>> carried_, after_;  // in an iteration; after the loop
  std::map<Result, Value *> lists_;
  std::map<std::pair<int64_t, int64_t>, Value *> numbers_;
  std::map<std::pair<const Node *, std::pair<int64_t, int64_t>>, Value *> items_;
  std::vector<Node *> copies_;
};

// The first two and the last two iterations may differ.
bool reroll_within(Graph &graph, const std::vector<Node *> &nodes, const Repetition &found) {
  for (size_t front = 0; front < 3; front++)
    for (size_t back = 0; back < 3; back++) {
      if (found.count < kLeastIterations + front + back) continue;
      Repetition part = found;
      part.begin += front * found.period;
      part.count -= front + back;
      if (part.count * part.period < kLeastNodes) continue;
      Rerolling rerolling(graph, nodes, part);
      if (!rerolling.plan()) continue;
      rerolling.apply();
      return true;
    }
  return false;
}

}  // namespace

bool reroll_loops(Graph &graph) {
  std::vector<Node *> nodes;
  std::vector<std::string> texts;
  for (const auto &node : graph.top.nodes) {
    texts.push_back(text_of(*node, nodes.size()));
    nodes.push_back(node.get());
  }
  const Repetition found = longest_repetition(texts, kLeastIterations);
  return found.count > 0 && reroll_within(graph, nodes, found);
}

}  // namespace rush
