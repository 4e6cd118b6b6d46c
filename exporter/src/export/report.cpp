#include "export/report.h"

#include <algorithm>
#include <map>

#include "base/counted.h"
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

// The three distances.
std::string float64_text(const Report &report) {
  std::string out;
  char line[240];
  if (report.measured > 0) {
    std::snprintf(line, sizeof line,
                  "  float64   PyTorch is off by %.3g (L2 %.3g), Rushlight by %.3g (L2 %.3g), "
                  "between them %.3g (L2 %.3g)\n",
                  report.pytorch.max, report.pytorch.l2, report.own.max, report.own.l2,
                  report.between.max, report.between.l2);
    out = line;
  }
  if (!report.not_measured.empty())
    out += "  not run in float64: " + report.not_measured + "; the norm of the output decided\n";
  return out;
}

// The text with '#' for each number of the name that it begins with, up to ':', ' ' or the end.
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

// More texts than this that differ by numbers in their names become one.
constexpr size_t kMostAlike = 3;

// "a, b, key_0 ... key_29 (30)".
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
      q.own_rows, q.rows, q.matched_rows);
}

// What the comparison with PyTorch gave.
std::string verified_text(const Report &report) {
  if (report.verified == 0) return "  not verified: " + report.not_verified + "\n";
  const Quantized &q = report.quantized;
  std::string out =
      line_of("  %s against PyTorch on %s: max abs %.3g, max rel %.3g\n",
              q.layers > 0 ? "measured " : "verified ", counted(report.verified, "input").c_str(),
              report.max_abs, report.max_rel);
  if (q.layers > 0)
    out += line_of("  error     %.3g of the greatest element, L2 %.3g, cosine %.6f\n", q.max, q.l2,
                   q.cosine) +
           rows_text(q);
  std::string tried;
  for (const std::string &sizes : report.tried) tried += (tried.empty() ? "" : "; ") + sizes;
  if (!tried.empty()) out += "  also at   " + tried + "\n";
  out += float64_text(report);
  if (!report.real)
    out += "  inputs    were the examples and made-up ones alone; test_inputs takes real ones\n";
  if (!report.random.empty())
    out += "  random    " + report.random +
           " draws random numbers: answers change from call to call, and were compared with one "
           "seed\n";
  return out;
}

}  // namespace

std::string to_string(const Report &report) {
  std::string out = report.path + "\n" +
                    line_of("  size      %llu bytes, of these %llu weights\n",
                            static_cast<unsigned long long>(report.file_bytes),
                            static_cast<unsigned long long>(report.weights_bytes));
  if (!report.quantized.name.empty()) out += to_string(report.quantized);
  out += "  inputs    " + join(report.inputs) + "\n  outputs   " + join(report.outputs) + "\n";
  if (!report.state.empty()) out += "  state     " + join(report.state) + "\n";
  std::string ops;
  for (const OpCount &row : report.ops)
    ops += (ops.empty() ? "" : ", ") + row.op + " " + std::to_string(row.count);
  out += "  operators " + (ops.empty() ? "none" : ops) + "\n";
  if (!report.missing.empty()) out += "  missing   " + missing_text(report.missing) + "\n";
  out += "  tests     " + counted(report.test_vectors, "test vector") + " stored\n";
  out += verified_text(report);
  for (const std::string &w : report.warnings) out += "  warning   " + w + "\n";
  return out;
}

namespace {

std::string json_texts(const std::vector<std::string> &texts) {
  std::string out;
  for (const std::string &text : texts) out += (out.empty() ? "" : ", ") + json_text(text);
  return "[" + out + "]";
}

std::string json_ops(const std::vector<OpCount> &rows) {
  std::string out;
  for (const OpCount &row : rows)
    out += (out.empty() ? "" : ", ") + json_text(row.op) + ": " + std::to_string(row.count);
  return "{" + out + "}";
}

}  // namespace

std::string to_json(const Report &report) {
  std::string out = "{\n";
  const auto field = [&](const char *name, const std::string &value) {
    out += std::string(out.size() > 2 ? ",\n" : "") + "  \"" + name + "\": " + value;
  };
  field("path", json_text(report.path));
  field("ops", json_ops(report.ops));
  field("missing", json_ops(report.missing));
  field("warnings", json_texts(report.warnings));
  field("inputs", json_texts(report.inputs));
  field("outputs", json_texts(report.outputs));
  field("state", json_texts(report.state));
  field("file_bytes", std::to_string(report.file_bytes));
  field("weights_bytes", std::to_string(report.weights_bytes));
  field("test_vectors", std::to_string(report.test_vectors));
  field("verified", std::to_string(report.verified));
  field("not_verified", json_text(report.not_verified));
  field("max_abs", json_number(report.max_abs));
  field("max_rel", json_number(report.max_rel));
  field("measured", std::to_string(report.measured));
  field("pytorch", json_of(report.pytorch));
  field("rushlight", json_of(report.own));
  field("difference", json_of(report.between));
  field("not_measured", json_text(report.not_measured));
  field("random", json_text(report.random));
  const Quantized &q = report.quantized;
  const auto figure = [&](double x) { return q.measured ? json_number(x) : std::string("null"); };
  const std::string rows = !q.has_rows
                               ? ""
                               : ", \"rows\": {\"pytorch\": " + std::to_string(q.rows) +
                                     ", \"rushlight\": " + std::to_string(q.own_rows) +
                                     ", \"matched\": " + std::to_string(q.matched_rows) + "}";
  if (!q.name.empty())
    field("quantized",
          "{\"bits\": " + json_text(q.name) + ", \"layers\": " + std::to_string(q.layers) +
              ", \"kept\": " + std::to_string(q.kept) +
              ", \"before\": " + std::to_string(q.before) +
              ", \"after\": " + std::to_string(q.after) + ", \"max\": " + figure(q.max) +
              ", \"l2\": " + figure(q.l2) + ", \"cosine\": " + figure(q.cosine) + rows + "}");
  return out + "\n}\n";
}

}  // namespace rush
