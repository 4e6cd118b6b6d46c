// Decides which tensors are state and which are constants.
#include <map>
#include <set>

#include "ir/alias.h"
#include "passes/passes.h"

namespace rush {

namespace {

Node *prepend_get_attr(Graph &graph, const Attribute &attribute, size_t slot) {
  Node *first = graph.top.nodes.empty() ? &graph.top.results : graph.top.nodes.front().get();
  Node *get = graph.insert_before(first, "rush::get_attr");
  get->source = {};
  get->add_input(graph.constant(const_int(static_cast<int64_t>(slot))));
  get->add_output(attribute.type, attribute.name);
  return get;
}

const void *storage_of(const Const &c) {
  return c.tensor.storage_id();
}

// Calls f with each node that reads or writes an attribute, and the attribute's slot.
template <class F>
void each_access(const Program &program, F f) {
  for (const Method &m : program.methods)
    for (Node *node : all_nodes(*m.graph))
      if (node->op == "rush::get_attr" || node->op == "rush::set_attr")
        f(node, node->constant(0)->i);
}

// Returns the slots that a method writes, and those of attributes that share memory with these.
std::set<int64_t> written_slots(const Program &program) {
  std::set<int64_t> written;
  each_access(program, [&](const Node *node, int64_t slot) {
    if (node->op == "rush::set_attr") {
      written.insert(slot);
      return;
    }
    const Fate fate = fate_of(node->output());
    const bool container = node->output()->type->kind != RUSH_TYPE_TENSOR;
    if (fate.written || !fate.slots.empty() || (container && fate.escapes)) written.insert(slot);
  });
  std::set<const void *> storages;
  for (int64_t slot : written)
    each_tensor(program.attributes[static_cast<size_t>(slot)].initial,
                [&](const Const &t) { storages.insert(storage_of(t)); });
  for (size_t slot = 0; slot < program.attributes.size(); slot++)
    each_tensor(program.attributes[slot].initial, [&](const Const &t) {
      if (storages.count(storage_of(t))) written.insert(static_cast<int64_t>(slot));
    });
  return written;
}

// Keeps the attributes in these slots alone, and numbers them anew.
bool keep_attributes(Program &program, const std::set<int64_t> &slots) {
  std::map<int64_t, int64_t> renumber;
  std::vector<Attribute> kept;
  for (int64_t slot : slots) {
    renumber[slot] = static_cast<int64_t>(kept.size());
    kept.push_back(std::move(program.attributes[static_cast<size_t>(slot)]));
  }
  const bool changed = kept.size() != program.attributes.size();
  program.attributes = std::move(kept);
  each_access(program, [&](Node *node, int64_t slot) {
    node->set_input(0, node->block->graph->constant(const_int(renumber.at(slot))));
  });
  return changed;
}

}  // namespace

bool freeze_attributes(Program &program) {
  const std::set<int64_t> written = written_slots(program);
  bool changed = false;
  each_access(program, [&](Node *node, int64_t slot) {
    if (written.count(slot)) return;
    Graph *graph = node->block->graph;
    node->output()->replace_all_uses_with(
        graph->constant(program.attributes[static_cast<size_t>(slot)].initial));
    node->destroy();
    changed = true;
  });
  return keep_attributes(program, written) || changed;
}

namespace {

// Returns the attributes whose value a method writes in place.
std::set<int64_t> slots_written_in_place(const Program &program) {
  std::set<int64_t> out;
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph))
      if (node->op == "rush::get_attr" && fate_of(node->output()).written)
        out.insert(node->constant(0)->i);
  return out;
}

// `self.state = torch.zeros(2)`: libtorch folds the zeros. If the program writes the attribute in
// place, each run must store a new tensor. The same holds for `self.state.set_(...)`.
bool copy_into_attributes(Program &program) {
  const std::set<int64_t> slots = slots_written_in_place(program);
  bool changed = false;
  for (Method &m : program.methods) {
    for (Node *node : all_nodes(*m.graph)) {
      const bool sets = node->op == "rush::set_attr" && slots.count(node->constant(0)->i);
      if (!sets && node->op != "aten::set_.source_Tensor") continue;
      const Const *value = node->constant(1);
      if (!value || !value->is_tensor()) continue;
      Node *copy = m.graph->insert_before(node, "aten::clone");
      copy->add_input(node->input(1));
      node->set_input(1, copy->add_output(tensor_type()));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

bool keep_written_constants(Program &program) {
  bool changed = copy_into_attributes(program);
  std::set<const void *> written;
  for (Method &m : program.methods)
    for (const Value &v : m.graph->values)
      if (v.is_constant() && v.constant->is_tensor() && !v.uses.empty() && fate_of(&v).written)
        written.insert(storage_of(*v.constant));
  if (written.empty()) return changed;

  for (Method &m : program.methods) {
    std::vector<Value *> constants;
    for (Value &v : m.graph->values)
      if (v.is_constant() && v.constant->is_tensor() && !v.uses.empty() &&
          written.count(storage_of(*v.constant)))
        constants.push_back(&v);
    for (Value *v : constants) {
      size_t slot = 0;
      while (slot < program.attributes.size() &&
             !same(program.attributes[slot].initial, *v->constant))
        slot++;
      if (slot == program.attributes.size()) {
        std::string name =
            v->constant->s.empty() ? "constant." + std::to_string(slot) : v->constant->s;
        program.attributes.push_back({name, tensor_type(), *v->constant});
      }
      v->replace_all_uses_with(
          prepend_get_attr(*m.graph, program.attributes[slot], slot)->output());
      changed = true;
    }
  }
  return changed;
}

namespace {

bool name_tensors(Const *c, std::map<const void *, std::string> *names) {
  bool changed = false;
  if (c->is_tensor() && c->s.empty()) {
    auto [at, is_new] = names->emplace(storage_of(*c), "constant." + std::to_string(names->size()));
    c->s = at->second;
    changed = true;
  }
  for (Const &item : c->items) changed |= name_tensors(&item, names);
  return changed;
}

}  // namespace

bool name_constants(Program &program) {
  bool changed = false;
  std::map<const void *, std::string> names;
  auto rename = [&](Node *node) {
    for (size_t i = 0; i < node->inputs.size(); i++) {
      if (!node->constant(i)) continue;
      Const named = *node->constant(i);
      if (!name_tensors(&named, &names)) continue;
      node->set_input(i, node->block->graph->constant(std::move(named)));
      changed = true;
    }
  };
  for (Method &m : program.methods) {
    for (Node *node : all_nodes(*m.graph)) {
      rename(node);
      for (auto &block : node->blocks) rename(&block->results);
    }
    rename(&m.graph->top.results);
  }
  return changed;
}

}  // namespace rush
