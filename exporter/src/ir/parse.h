// Graphs as text, with weights from outside: how fronts in Python hand over what they read.
#pragma once

#include "ir/graph.h"

namespace rush {

// As parse_graph of graph.h, and <@3> is tensors[3]. "# net.py:12" behind a node is its source;
// "# net.py:12 in forward of layer.0 @7" also names function, module and debug handle.
std::unique_ptr<Graph> parse_graph(const std::string &text, const std::vector<Const> &tensors);

TypeRef graph_type(const std::string &text);

}  // namespace rush
