#include "export/operators.h"

#include <algorithm>
#include <map>

#include "ir/unsupported.h"
#include "rushlight/rushlight.h"

namespace rush {

namespace {

std::vector<OpCount> count_ops(const Program &program, bool only_missing) {
  std::map<std::string, OpCount> by_name;
  for (const Method &m : program.methods) {
    for (const Node *node : all_nodes(*m.graph)) {
      if (node->op == "prim::If" || node->op == "prim::Loop") continue;
      if (only_missing && rush_has_op(node->op.c_str())) continue;
      OpCount &row = by_name[node->op];
      row.op = node->op;
      row.count++;
      if (node->source.file.empty()) continue;
      const std::string where = node->source.file + ":" + std::to_string(node->source.line);
      if (row.where.find(where) == std::string::npos && row.where.size() < 200)
        row.where += (row.where.empty() ? "" : ", ") + where;
    }
  }
  std::vector<OpCount> out;
  for (auto &[name, row] : by_name) out.push_back(row);
  std::stable_sort(out.begin(), out.end(),
                   [](const OpCount &a, const OpCount &b) { return a.count > b.count; });
  return out;
}

// Returns whether an operator takes or makes quantized tensors or packed quantized weights.
bool is_quantized(const std::string &op) {
  for (const char *start :
       {"quantized::", "aten::quantize_", "aten::quantized_", "aten::dequantize"})
    if (op.rfind(start, 0) == 0) return true;
  return false;
}

// Returns whether an operator makes sparse tensors, or takes only sparse tensors.
bool is_sparse(const std::string &op) {
  return op.find("sparse") != std::string::npos || op == "aten::to_dense" ||
         op == "aten::_to_dense";
}

// Returns the remedy for sparse tensors, quantized models and custom operators; else "".
std::string supply_text(const std::vector<OpCount> &missing) {
  for (const OpCount &row : missing)
    if (is_sparse(row.op))
      return "\nsparse layouts are not supported: use dense tensors (to_dense() before the "
             "export), and "
             "index_put or index_add to add elements";
  for (const OpCount &row : missing)
    if (is_quantized(row.op))
      return "\nthese quantized operators are not supported yet: do not quantize these layers";
  for (const OpCount &row : missing)
    if (row.op.rfind("aten::", 0) != 0 && row.op.rfind("prim::", 0) != 0)
      return "\nregister a decomposition of a custom operator (rushlight.register_decomposition), "
             "or "
             "export with allow_missing (--allow-missing) and supply it where the file runs (in "
             "JavaScript load(url, { ops }), in C rushlight/op.h)";
  return "";
}

}  // namespace

std::vector<OpCount> operators_of(const Program &program) {
  return count_ops(program, false);
}

std::vector<OpCount> missing_operators(const Program &program) {
  return count_ops(program, true);
}

void refuse_missing(const std::vector<OpCount> &missing) {
  throw Unsupported(missing_text(missing) + supply_text(missing));
}

}  // namespace rush
