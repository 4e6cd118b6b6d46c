#include "export/report.h"

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "base/joined.h"
#include "base/json.h"

namespace rush {

std::string missing_text(const std::vector<OpCount> &missing) {
  std::string out = "the runtime lacks " + counted(missing.size(), "operator") + " of this model:";
  for (const OpCount &row : missing)
    out += "\n  " + row.op + ", " + counted(row.count, "time") +
           (row.where.empty() ? "" : ", at " + row.where);
  return out;
}

namespace {

// Replaces each number in the leading name (up to ':', ' ' or the end) by '#'.
std::string pattern_of(const std::string &text) {
  std::string out;
  const size_t end = std::min(text.find_first_of(": "), text.size());
  for (size_t i = 0; i < end; i++) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (!digit) out += text[i];
    if (digit && (out.empty() || out.back() != '#')) out += '#';
  }
  return out + text.substr(end);
}

// If more than this many texts differ only in the numbers of their names, they become one text.
constexpr size_t kMostAlike = 3;

// Returns a text such as "a, b, key_0 ... key_29 (30)".
std::string join(const std::vector<std::string> &texts) {
  std::vector<std::vector<std::string>> groups;
  std::map<std::string, size_t> places;
  for (const std::string &text : texts) {
    const auto [at, is_new] = places.emplace(pattern_of(text), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(text);
  }
  std::string out;
  const auto add = [&](const std::string &text) { out += (out.empty() ? "" : ", ") + text; };
  for (const std::vector<std::string> &group : groups) {
    if (group.size() > kMostAlike)
      add(group.front() + " ... " + group.back() + " (" + std::to_string(group.size()) + ")");
    else
      for (const std::string &text : group) add(text);
  }
  return out.empty() ? "none" : out;
}

template <class... Values>
std::string line_of(const char *format, Values... values) {
  char line[320];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

std::string rows_text(const Quantized &q) {
  if (!q.has_rows) return "";
  return line_of(
      "  rows      %zu where PyTorch gives %zu; %zu belong together, and were compared\n",
      q.rushlight_rows, q.rows, q.matched_rows);
}

// ---- Lines of the text

std::string size_text(const Report &r) {
  return line_of("  size      %llu bytes, of these %llu weights\n",
                 static_cast<unsigned long long>(r.file_bytes),
                 static_cast<unsigned long long>(r.weights_bytes));
}

std::string ops_text(const Report &r) {
  const std::string ops =
      joined(r.ops, [](const OpCount &row) { return row.op + " " + std::to_string(row.count); });
  return "  operators " + (ops.empty() ? "none" : ops) + "\n";
}

std::string verified_text(const Report &r) {
  if (r.verified == 0) return "  not verified: " + r.not_verified + "\n";
  const Quantized &q = r.quantized;
  std::string out = line_of("  %s against PyTorch on %s: max abs %.3g, max rel %.3g\n",
                            q.layers > 0 ? "measured " : "verified ",
                            counted(r.verified, "input").c_str(), r.max_abs, r.max_rel);
  if (q.layers > 0)
    out += line_of("  error     %.3g of the greatest element, L2 %.3g, cosine %.6f\n", q.max, q.l2,
                   q.cosine) +
           rows_text(q);
  return out;
}

std::string verified_sizes_text(const Report &r) {
  const std::string sizes_text =
      joined(r.verified_sizes, [](const std::string &sizes) { return sizes; }, "; ");
  return sizes_text.empty() ? std::string() : "  also at   " + sizes_text + "\n";
}

std::string measured_text(const Report &r) {
  if (r.measured == 0) return "";
  return line_of(
      "  float64   PyTorch is off by %.3g (L2 %.3g), Rushlight by %.3g (L2 %.3g), between them "
      "%.3g (L2 %.3g)\n",
      r.pytorch.max, r.pytorch.l2, r.rushlight.max, r.rushlight.l2, r.difference.max,
      r.difference.l2);
}

std::string warnings_text(const Report &r) {
  std::string out;
  for (const std::string &warning : r.warnings) out += "  warning   " + warning + "\n";
  return out;
}

// ---- Values as JSON

std::string json_texts(const std::vector<std::string> &texts) {
  return "[" + joined(texts, json_text) + "]";
}

std::string json_ops(const std::vector<OpCount> &rows) {
  return "{" +
         joined(rows,
                [](const OpCount &row) {
                  return json_text(row.op) + ": " + std::to_string(row.count);
                }) +
         "}";
}

std::string json_bool(bool value) {
  return value ? "true" : "false";
}

std::string json_rows(const Quantized &q) {
  if (!q.has_rows) return "null";
  return "{\"pytorch\": " + std::to_string(q.rows) +
         ", \"rushlight\": " + std::to_string(q.rushlight_rows) +
         ", \"matched\": " + std::to_string(q.matched_rows) + "}";
}

std::string json_layer(const Quantized::Layer &layer) {
  return "{\"path\": " + json_text(layer.path) + ", \"bits\": " + json_text(layer.bits) +
         ", \"before\": " + std::to_string(layer.before) +
         ", \"after\": " + std::to_string(layer.after) +
         ", \"error\": " + json_number(layer.error) + "}";
}

std::string json_quantized(const Report &r) {
  const Quantized &q = r.quantized;
  if (q.name.empty()) return "null";
  const auto figure = [&](double x) { return q.measured ? json_number(x) : std::string("null"); };
  return "{\"bits\": " + json_text(q.name) + ", \"layers\": " + std::to_string(q.layers) +
         ", \"kept\": " + std::to_string(q.kept) + ", \"before\": " + std::to_string(q.before) +
         ", \"after\": " + std::to_string(q.after) + ", \"max\": " + figure(q.max) +
         ", \"l2\": " + figure(q.l2) + ", \"cosine\": " + figure(q.cosine) +
         ", \"rows\": " + json_rows(q) + ", \"by_layer\": [" + joined(q.by_layer, json_layer) +
         "]}";
}

// ---- The table of fields

using Say = std::string (*)(const Report &);

struct Field {
  const char *name;  // in JSON, and in Python's Report
  Say json;
  Say text;                  // its lines, or nullptr if another field's lines have it
  bool of_verified = false;  // the lines exist only for a file that was verified
};

const Field kFields[] = {
    {"path", [](const Report &r) { return json_text(r.path); },
     [](const Report &r) { return r.path + "\n"; }},
    {"file_bytes", [](const Report &r) { return std::to_string(r.file_bytes); }, size_text},
    {"weights_bytes", [](const Report &r) { return std::to_string(r.weights_bytes); }, nullptr},
    {"quantized", json_quantized,
     [](const Report &r) {
       return r.quantized.name.empty() ? std::string() : to_string(r.quantized);
     }},
    {"inputs", [](const Report &r) { return json_texts(r.inputs); },
     [](const Report &r) { return "  inputs    " + join(r.inputs) + "\n"; }},
    {"outputs", [](const Report &r) { return json_texts(r.outputs); },
     [](const Report &r) { return "  outputs   " + join(r.outputs) + "\n"; }},
    {"state", [](const Report &r) { return json_texts(r.state); },
     [](const Report &r) {
       return r.state.empty() ? std::string() : "  state     " + join(r.state) + "\n";
     }},
    {"ops", [](const Report &r) { return json_ops(r.ops); }, ops_text},
    {"missing", [](const Report &r) { return json_ops(r.missing); },
     [](const Report &r) {
       return r.missing.empty() ? std::string() : "  missing   " + missing_text(r.missing) + "\n";
     }},
    {"test_vectors", [](const Report &r) { return std::to_string(r.test_vectors); },
     [](const Report &r) {
       return "  tests     " + counted(r.test_vectors, "test vector") + " stored\n";
     }},
    {"verified", [](const Report &r) { return std::to_string(r.verified); }, verified_text},
    {"not_verified", [](const Report &r) { return json_text(r.not_verified); }, nullptr},
    {"max_abs", [](const Report &r) { return json_number(r.max_abs); }, nullptr},
    {"max_rel", [](const Report &r) { return json_number(r.max_rel); }, nullptr},
    {"verified_sizes", [](const Report &r) { return json_texts(r.verified_sizes); },
     verified_sizes_text, true},
    {"measured", [](const Report &r) { return std::to_string(r.measured); }, measured_text, true},
    {"pytorch", [](const Report &r) { return json_of(r.pytorch); }, nullptr},
    {"rushlight", [](const Report &r) { return json_of(r.rushlight); }, nullptr},
    {"difference", [](const Report &r) { return json_of(r.difference); }, nullptr},
    {"not_measured", [](const Report &r) { return json_text(r.not_measured); },
     [](const Report &r) {
       return r.not_measured.empty() ? std::string()
                                     : "  not run in float64: " + r.not_measured +
                                           "; the norm of the output decided\n";
     },
     true},
    {"real_inputs", [](const Report &r) { return json_bool(r.real_inputs); },
     [](const Report &r) {
       return std::string(r.real_inputs ? ""
                                        : "  inputs    are only the examples and synthetic ones; "
                                          "test_inputs adds real ones\n");
     },
     true},
    {"random", [](const Report &r) { return json_text(r.random); },
     [](const Report &r) {
       return r.random.empty() ? std::string()
                               : "  random    " + r.random +
                                     " draws random numbers: answers change from call to call, "
                                     "and were compared with one seed\n";
     },
     true},
    {"warnings", [](const Report &r) { return json_texts(r.warnings); }, warnings_text},
};

}  // namespace

std::string to_string(const Report &report) {
  std::string out;
  for (const Field &field : kFields)
    if (field.text && (report.verified > 0 || !field.of_verified)) out += field.text(report);
  return out;
}

std::string to_json(const Report &report) {
  std::string out;
  for (const Field &field : kFields)
    out += std::string(out.empty() ? "{\n" : ",\n") + "  \"" + field.name +
           "\": " + field.json(report);
  return out + "\n}\n";
}

}  // namespace rush
