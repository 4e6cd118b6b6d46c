// Programs as a front in Python describes them.
#pragma once

#include "api/json.h"
#include "export/options.h"

namespace rush {

// {"methods": [{"name", "graph": number, "inputs": [port], "outputs": [port]}], "attributes":
// [[name, type, value]], "texts": [[module, kind, text]], "meta": [[key, value]]}. Without
// "attributes", they are those of the only graph. A port is {"name", "type" of an output,
// "initial", "dtype" and "sizes" if they are known}.
Program program_from(const Json &description);

// Ports, each with its type.
std::vector<Port> ports_from(const Json &ports);

// Returns the graph of a description of one method.
std::shared_ptr<const Graph> graph_from(const Json &description);

// {"method", "args", "expected" if it is known, "rtol", "atol", "store", "only_compared"}.
Example example_from(const Json &example, const Program &program);

}  // namespace rush
