#include "export/verify_file.h"

#include <algorithm>
#include <cmath>

#include "export/examples.h"
#include "quantize/matched_rows.h"
#include "run/compare.h"
#include "run/native.h"

namespace rush {

namespace {

// Returns whether PyTorch gives the same answer again.
bool repeats(const Example &example, const Reference &reference) {
  return compare(reference(example.method, example.args), *example.expected, example.rtol,
                 example.atol, "")
      .ok;
}

// Adds a Difference or a rush_verify_report to the report, which keeps the distances of the value
// that is furthest from float64's.
template <class Found>
void keep(const Found &found, Report *report) {
  report->max_abs = std::max(report->max_abs, found.max_abs);
  report->max_rel = std::max(report->max_rel, found.max_rel);
  if (found.measured == 0) return;
  const bool first = report->measured == 0;
  report->measured += found.measured;
  if (!first && !(found.rushlight.max > report->rushlight.max)) return;
  report->pytorch = found.pytorch;
  report->rushlight = found.rushlight;
  report->difference = found.difference;
}

// Follows "differs from PyTorch" or "does not run".
std::string at_sizes(const Example &example) {
  return example.new_sizes.empty()
             ? ""
             : " at sizes other than the example's, which dynamic_shapes leaves open (" +
                   example.new_sizes + ")";
}

// Returns an error that tracing may have caused, because it fixed the example's sizes or values.
RuntimeError specialization_error(rush_status status, const char *specialized,
                                  const std::string &message) {
  RuntimeError error(status, message);
  error.specialized = specialized;
  return error;
}

// Returns the same for an example at other sizes; an error like any other for the example itself.
RuntimeError sizes_error(rush_status status, const Example &example, const std::string &message) {
  return specialization_error(status, example.new_sizes.empty() ? "" : "sizes", message);
}

// Returns whether oneDNN sums two products of bytes in 16 bits on this processor, which may overflow.
bool overflows_in_onednn() {
#ifdef __x86_64__
  return !__builtin_cpu_supports("avx512vnni") && !__builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

// Returns whether torch.ao quantized the layer for its engine oneDNN.
bool is_of_onednn(const Node &node) {
  const Const *qnnpack = node.op == "rush::quantized_conv" ? node.constant(5) : nullptr;
  return qnnpack && !qnnpack->i;
}

// Returns the reason why PyTorch's own answer may be wrong, or "".
std::string engine_text(const Program &program) {
  if (!overflows_in_onednn() || !any_node(program, is_of_onednn)) return "";
  return "; this processor has no VNNI, without which the sums of PyTorch's engine onednn "
         "overflow where weights and activations have 8 bits: quantize with 7 of them "
         "(reduce_range), or with torch.backends.quantized.engine = 'qnnpack'";
}

// Returns the tolerances of the comparison, and the way to change them.
std::string tolerance_text(double rtol, double atol) {
  char text[120];
  std::snprintf(text, sizeof text, "; compared with rtol=%g and atol=%g, which export() takes",
                rtol, atol);
  return text;
}

[[noreturn]] void refuse_difference(const Program &program, const std::string &where,
                                    const std::string &not_measured, const Example &example) {
  throw sizes_error(
      RUSH_ERR_MISMATCH, example,
      "the exported model differs from PyTorch" + at_sizes(example) + ": " + where +
          (not_measured.empty() ? "" : "; float64's answer is not known: " + not_measured) +
          tolerance_text(example.rtol, example.atol) + engine_text(program));
}

Const run_example(NativeSession *session, const Example &example) {
  session->reset();
  session->manual_seed(RUSH_TEST_SEED);
  try {
    return session->run(session->method(example.method), example.args);
  } catch (const RuntimeError &e) {
    throw sizes_error(e.status, example,
                      "the exported model does not run" + at_sizes(example) + ": " + e.what());
  }
}

// Finds outputs that a wrong program would also give. A head that was initialized to zero gives the
// same output for all inputs, and outputs without elements are always equal.
class DegenerateOutput {
 public:
  void add(const Const &answer) {
    each_tensor(answer, [&](const Const &c) {
      any_ = true;
      if (c.tensor.numel() == 0) return;
      empty_ = false;
      if (c.tensor.is_floating_point()) add(c.tensor.doubles());
    });
  }

  // The common property of all floating-point tensors, such as "all zero"; "" if the outputs are not degenerate.
  std::string kind() const {
    if (any_ && empty_) return "empty";
    if (tensors_ == 0) return "";
    if (nan_) return "NaN everywhere";
    if (!constant_) return "";
    return zero_ ? "all zero" : many_ ? "constant" : "";
  }

 private:
  void add(const std::vector<double> &values) {
    const double first = values[0];
    if (tensors_++ == 0) value_ = first;
    if (values.size() > 1) many_ = true;
    if (first != value_) constant_ = false;
    if (first != 0) zero_ = false;
    const auto all = [&](auto is) { return std::all_of(values.begin(), values.end(), is); };
    if (all([](double x) { return std::isnan(x); })) return;
    nan_ = false;
    if (!all([&](double x) { return x == first; })) constant_ = false;
  }

  size_t tensors_ = 0;
  double value_ = 0;  // the first element
  bool any_ = false, empty_ = true;
  bool nan_ = true, zero_ = true, constant_ = true, many_ = false;
};

bool has_empty(const Const &answer) {
  bool found = false;
  each_tensor(answer, [&](const Const &c) { found |= c.tensor.numel() == 0; });
  return found;
}

// ---- What tracing fixed --------------------------------------------------------------------------

// Returns whether PyTorch's own run of the graph equals the model's except for rounding, or the model refuses
// these arguments.
bool graph_agrees(const ExportContext &s, const std::string &method,
                  const std::vector<Const> &args) {
  Example e;
  e.method = method;
  e.args = args;
  try {
    e.expected = snapshot({s.reference(method, args)})[0];
  } catch (const std::exception &) {
    return true;
  }
  return s.measurer.graph_differs(e).empty();
}

// If PyTorch's own trace differs from the model for inputs other than the example's: a message that
// names these inputs; else "".
std::string fixed_text(const ExportContext &s, const std::string &method,
                       const std::vector<Const> &inputs, const std::vector<Example> &examples) {
  if (!s.options.graph || s.options.graph_is_reference || graph_agrees(s, method, inputs))
    return "";
  std::string names;
  for (const Example &e : examples) {
    if (e.method != method || e.store || e.only_compared || !e.new_sizes.empty()) continue;
    const std::vector<Port> &ports = method_of(s.program, method).inputs;
    for (size_t i = 0; i < e.args.size(); i++) {
      std::vector<Const> args = e.args;
      args[i] = inputs[i];
      if (!graph_agrees(s, method, args)) names += (names.empty() ? "" : ", ") + ports[i].name;
    }
    break;
  }
  return "tracing fixed numbers that depend on " +
         (names.empty() ? "inputs together" : "the values of " + names) +
         ": for synthetic inputs of the example's sizes, PyTorch's own trace differs from the "
         "model. "
         "Export torch.jit.script(model) or torch.export.export(model, example_inputs), which can "
         "keep such numbers dynamic, or pass these numbers as arguments that are not tensors. If "
         "the "
         "example's numbers are right for all inputs, export with test_vectors=False";
}

// ---- Examples ------------------------------------------------------------------------------------

class Verification {
 public:
  Verification(NativeSession *session, const ExportContext &subject,
               const std::vector<Example> &examples, Report *report)
      : session_(session), s_(subject), examples_(examples), report_(report) {}

  // Runs the written file and compares. Throws RuntimeError if an answer differs.
  void compare_all() {
    DegenerateOutput outputs;
    for (const Example &example : examples_) {
      if (!compare_one(example)) continue;
      if (!is_conclusive(example)) continue;
      outputs.add(*example.expected);
      count(example);
    }
    warn(outputs);
  }

  // Runs the written file, which is quantized, and measures its error.
  void measure_all() {
    for (const Example &example : examples_) {
      if (example.synthetic) continue;
      measure_one(example);
      count(example);
    }
    report_->quantized.measured = report_->verified > 0;
    warn_if_far();
  }

  // Replays the test vectors in the file, as its users will.
  bool replay() {
    bool changed = false;
    for (size_t i = 0; i < session_->test_count(); i++) changed |= replay_one(i);
    return changed;
  }

 private:
  void warn_if_far() {
    constexpr double kNear = 0.99;
    const Quantized &q = report_->quantized;
    if (!q.measured || !(q.cosine < kNear)) return;
    char text[240];
    std::snprintf(text, sizeof text,
                  "the cosine of the quantized answers and PyTorch's is %.3f, below 0.99: give "
                  "typical inputs as calibration, or more bits to the layers that lose most "
                  "(by_layer in the report)",
                  q.cosine);
    report_->warnings.push_back(text);
  }

  std::string output_name(const Example &example) const {
    const std::vector<Port> &ports = s_.program.methods[session_->method(example.method)].outputs;
    if (ports.size() == 1) return "output '" + ports[0].name + "'";
    return example.method == "forward" ? "the output" : "the output of " + example.method;
  }

  void count(const Example &example) {
    if (example.synthetic) return;
    report_->verified++;
    report_->real_inputs |= example.store || example.only_compared;
    if (!example.new_sizes.empty()) report_->verified_sizes.push_back(example.new_sizes);
  }

  // If synthetic values differ, tracing may be wrong and not the file.
  [[noreturn]] void refuse(const Example &example, const std::string &where) {
    const std::string fixed =
        example.synthetic ? fixed_text(s_, example.method, example.args, examples_) : "";
    if (!fixed.empty())
      throw specialization_error(RUSH_ERR_MISMATCH, "values", fixed + " (" + where + ")");
    refuse_difference(s_.program, where, report_->not_measured, example);
  }

  Const run(const Example &example) {
    try {
      return run_example(session_, example);
    } catch (const RuntimeError &e) {
      if (!example.synthetic) throw;
      const std::string fixed = fixed_text(s_, example.method, example.args, examples_);
      if (fixed.empty()) throw;
      throw specialization_error(e.status, "values", fixed + " (" + e.what() + ")");
    }
  }

  // Returns false if PyTorch's own answer changes.
  bool compare_one(const Example &example) {
    const Const got = run(example);
    const std::string name = output_name(example);
    Difference d = compare(got, *example.expected, example.rtol, example.atol, name);
    if (!d.ok && !example.store && !repeats(example, s_.reference)) {
      report_->not_verified = "the model answers differently each time";
      return false;
    }
    if (!d.ok && !example.literal) d = compare_measured(got, example, name);
    if (!example.synthetic) keep(d, report_);
    if (!d.ok) refuse(example, d.where);
    return true;
  }

  Difference compare_measured(const Const &got, const Example &example, const std::string &name) {
    const Measured measured = s_.measurer(example);
    report_->not_measured = measured.why_not;
    const Difference d =
        compare(got, *example.expected, example.rtol, example.atol, name, &measured.list);
    if (d.ok || !measured.why_not.empty()) return d;
    const std::vector<rush_distance> distances = s_.measurer.distances_over_inputs(example);
    return compare(got, *example.expected, example.rtol, example.atol, name, &measured.list,
                   &distances);
  }

  // ---- Empty answers

  // Compares the arguments of operators whose results' sizes depend on values with PyTorch's. Returns
  // the number of tensors. Throws RuntimeError if one differs.
  size_t compare_before(const Example &example, std::string *where) {
    const std::vector<Filter> want = pytorchs_filters(example, false);
    if (want.empty()) return 0;
    const std::vector<Filter> exact = exact_filters(example);
    const std::vector<Filter> got = s_.filters.during(&s_.program, example.args, s_.open);
    size_t n = 0;
    for (size_t i = 0; i < std::min(got.size(), want.size()); i++) {
      if (got[i].op != want[i].op || got[i].tensors.size() != want[i].tensors.size()) break;
      if (n == 0 && !got[i].tensors.empty()) *where = got[i].where;
      for (size_t k = 0; k < got[i].tensors.size(); k++, n++) {
        const Const wanted = const_tensor(want[i].tensors[k]);
        const bool known = i < exact.size() && exact[i].op == want[i].op &&
                           exact[i].tensors.size() == want[i].tensors.size();
        const Const wide = known ? const_tensor(exact[i].tensors[k]) : Const();
        bool unstable = false;
        const std::vector<Measure> measures =
            measures_of(wanted, known ? &wide : nullptr, false, &unstable);
        const Difference d =
            compare(const_tensor(got[i].tensors[k]), wanted, measures[0].rtol, measures[0].atol,
                    "what comes before " + got[i].where, &measures);
        if (!d.ok) refuse(example, d.where);
      }
    }
    return n;
  }

  // The filters that PyTorch calls during a run of the model, or of its graph in float64, in their order
  // and without duplicates.
  std::vector<Filter> pytorchs_filters(const Example &example, bool in_double) const {
    std::vector<Filter> out;
    for (const OperatorCall &call :
         s_.options.calls(example.method, example.args, in_double, filter_ops()))
      add_filter(&out, filter_of(call.op, call.tensors, call.indices));
    return out;
  }

  std::vector<Filter> exact_filters(const Example &example) const {
    if (!s_.options.graph) return {};
    try {
      return pytorchs_filters(example, true);
    } catch (const std::exception &) {
      return {};
    }
  }

  // Returns whether a comparison of this example shows anything. If its answer is empty, the values before it
  // are compared.
  bool is_conclusive(const Example &example) {
    if (!has_empty(*example.expected) || example.method != s_.program.methods[0].name) return true;
    std::string where;
    const size_t compared = compare_before(example, &where);
    if (!is_empty(*example.expected)) return true;
    if (compared > 0) {
      before_ = where;
      return true;
    }
    if (example.new_sizes.empty()) return true;  // warn() says so
    if (s_.options.tracer_warned)
      throw sizes_error(RUSH_ERR_MISMATCH, example,
                        "verification is inconclusive" + at_sizes(example) +
                            ": PyTorch's answer is empty there, and tracing warned of values that "
                            "became constants. Give an "
                            "example in which something is found");
    unseen_ += (unseen_.empty() ? "" : "; ") + example.new_sizes;
    return false;
  }

  void warn(const DegenerateOutput &outputs) {
    const std::string kind = report_->verified ? outputs.kind() : "";
    if (!before_.empty())
      report_->warnings.push_back(
          "PyTorch's answers to some inputs are empty. The values before " + before_ +
          " were compared instead. Give an example in which something is found");
    else if (!kind.empty())
      report_->warnings.push_back(
          "verification is inconclusive: PyTorch's outputs are " + kind +
          ", as those of a wrong program may be. Give weights or inputs for which they are not");
    if (!unseen_.empty())
      report_->warnings.push_back("nothing was compared at " + unseen_ +
                                  ", where PyTorch's answer is empty: give an example in which "
                                  "something is found");
  }

  // ---- Quantized files

  void measure_one(const Example &example) {
    const Const got = run_example(session_, example);
    const Difference d = compare(got, *example.expected, example.rtol, example.atol,
                                 "an output of " + example.method);
    if (!d.ok && example.given && example.literal) refuse(example, d.where);
    report_->max_abs = std::max(report_->max_abs, d.max_abs);
    report_->max_rel = std::max(report_->max_rel, d.max_rel);
    try {
      if (!measure_matched(got, example)) add_distance(got, *example.expected, &report_->quantized);
    } catch (const std::runtime_error &e) {
      refuse(example, e.what());
    }
  }

  // If values decide the number of rows of an answer, measures the values before and matching rows.
  // Returns false if they do not.
  bool measure_matched(const Const &got, const Example &example) {
    if (example.method != s_.program.methods[0].name || !s_.filters.any_of_size()) return false;
    const std::vector<Filter> want = pytorchs_filters(example, false);
    const auto of_size = [](const Filter &f) { return f.is_of_size; };
    if (std::none_of(want.begin(), want.end(), of_size)) return false;
    std::set<const Node *> nodes;
    const std::vector<Filter> rushlight =
        s_.filters.during(&s_.program, example.args, s_.open, &nodes);
    for (size_t i = 0; i < std::min(rushlight.size(), want.size()); i++) {
      if (rushlight[i].op != want[i].op || rushlight[i].tensors.size() != want[i].tensors.size())
        break;
      for (size_t k = 0; k < rushlight[i].tensors.size(); k++)
        if (rushlight[i].tensors[k].sizes() == want[i].tensors[k].sizes())
          add_distance(const_tensor(rushlight[i].tensors[k]), const_tensor(want[i].tensors[k]),
                       &report_->quantized);
      if (want[i].is_of_size) break;
    }
    const Value *result = s_.program.methods[0].graph->top.results.input(0);
    add_matched(got, *example.expected, result, nodes, &report_->quantized);
    return true;
  }

  // ---- Test vectors

  bool replay_one(size_t i) {
    rush_verify_report found = {};
    try {
      session_->verify(i, &found);
      keep(found, report_);
      return false;
    } catch (const RuntimeError &e) {
      Test &test = s_.program.tests[i];
      const std::string &method = s_.program.methods[test.method].name;
      const std::string fixed = fixed_text(s_, method, test.inputs, examples_);
      if (!fixed.empty())
        throw specialization_error(e.status, "values", fixed + " (" + e.what() + ")");
      if (e.status != RUSH_ERR_MISMATCH) throw;
      if (relax(&test, method)) return true;
      Example example;
      example.rtol = static_cast<double>(test.rtol);
      example.atol = static_cast<double>(test.atol);
      refuse_difference(s_.program, e.what(), "", example);
    }
  }

  // If PyTorch's distances on several inputs show that an answer is right, the test vector gets a
  // tolerance for the norm of each value.
  bool relax(Test *test, const std::string &method) {
    Example example;
    example.method = method;
    example.args = test->inputs;
    example.expected = test->output;
    const std::vector<rush_distance> distances = s_.measurer.distances_over_inputs(example);
    if (test->measures.empty() || distances.size() != test->measures.size()) return false;
    const Const got = run_example(session_, example);
    if (!compare(got, test->output, 0, 0, "", &test->measures, &distances).ok) return false;
    for (size_t k = 0; k < distances.size(); k++) {
      Measure &m = test->measures[k];
      if (distances[k].max == 0) continue;
      m.exact.reset();
      m.rtol = std::max(m.rtol, 2 * kSeveralMultiple * std::max(distances[k].max, distances[k].l2));
    }
    return compare(got, test->output, 0, 0, "", &test->measures).ok;
  }

  NativeSession *session_;
  const ExportContext &s_;
  const std::vector<Example> &examples_;
  Report *report_;
  std::string before_,
      unseen_;  // the places where values before a filter were compared, or nothing was
};

}  // namespace

bool verify_file(NativeSession *session, const ExportContext &subject,
                 const std::vector<Example> &examples, Report *report) {
  Verification verification(session, subject, examples, report);
  if (report->quantized.layers > 0)
    verification.measure_all();
  else
    verification.compare_all();
  return verification.replay();
}

// Makes test vectors expect the answers of the file, except for the user's own: all of a quantized file,
// else those that are not close, as PyTorch's engine may round to another step.
void expect_file_answers(NativeSession *session, Program &program, bool all,
                         std::vector<std::string> *warnings) {
  std::vector<Test> tests;
  for (Test &test : program.tests) {
    Example example;
    example.method = program.methods[test.method].name;
    example.args = test.inputs;
    const Const rushlight = run_example(session, example);
    const bool kept =
        test.from_user || (!all && compare(rushlight, test.output, test.rtol, test.atol, "").ok);
    if (kept || expect_answer(rushlight, &test))
      tests.push_back(std::move(test));
    else
      warnings->push_back(
          "no test vector is stored: the quantized model makes other decisions than PyTorch");
  }
  program.tests = std::move(tests);
}

}  // namespace rush
