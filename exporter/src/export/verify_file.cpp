#include "export/verify_file.h"

#include <ATen/ops/eq.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/reshape.h>

#include <algorithm>

#include "base/seed.h"
#include "export/examples.h"
#include "front/torchscript.h"
#include "quantize/matched_rows.h"
#include "run/compare.h"
#include "run/native.h"

namespace rush {

namespace {

// Whether PyTorch gives the same answer again.
bool repeats(const Example &example, const Reference &reference) {
  return compare(reference(example.method, example.args), *example.expected, example.rtol,
                 example.atol, "")
      .ok;
}

// What a Difference and a rush_verify_report both say. The report has the distances of the value
// that is furthest from float64's.
template <class Found>
void keep(const Found &found, Report *report) {
  report->max_abs = std::max(report->max_abs, found.max_abs);
  report->max_rel = std::max(report->max_rel, found.max_rel);
  if (found.measured == 0) return;
  const bool first = report->measured == 0;
  report->measured += found.measured;
  if (!first && !(found.own.max > report->own.max)) return;
  report->pytorch = found.pytorch;
  report->own = found.own;
  report->between = found.between;
}

// Behind "differs from PyTorch" or "does not run".
std::string at_sizes(const Example &example) {
  return example.grown.empty()
             ? ""
             : " at sizes other than the example's, which dynamic_shapes leaves open (" +
                   example.grown + ")";
}

// An error that tracing may have caused, because it fixed the example's sizes or values.
RuntimeError baked_error(rush_status status, const char *baked, const std::string &message) {
  RuntimeError error(status, message);
  error.baked = baked;
  return error;
}

// The same for an example at other sizes; an error like any other for the example itself.
RuntimeError sizes_error(rush_status status, const Example &example, const std::string &message) {
  return baked_error(status, example.grown.empty() ? "" : "sizes", message);
}

// Whether this processor has oneDNN add up products of bytes in 16 bits, of which two may not fit.
bool overflows_in_onednn() {
#ifdef __x86_64__
  return !__builtin_cpu_supports("avx512vnni") && !__builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

// A layer that torch.ao quantized for its engine oneDNN.
bool is_of_onednn(const Node &node) {
  const Const *qnnpack = node.op == "rush::quantized_conv" ? node.constant(5) : nullptr;
  return qnnpack && !qnnpack->i;
}

// Why PyTorch's own answer may be wrong.
std::string engine_text(const Program &program) {
  if (!overflows_in_onednn() || !any_node(program, is_of_onednn)) return "";
  return "; this processor has no VNNI, without which the sums of PyTorch's engine onednn "
         "overflow where weights and activations have 8 bits: quantize with 7 of them "
         "(reduce_range), or with torch.backends.quantized.engine = 'qnnpack'";
}

// How near answers had to be, and how to say otherwise.
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

// Whether answers tell anything: a head that was initialised to zero gives the same whatever stands
// before it, and an answer without elements is everybody's.
class Sight {
 public:
  void look(const Const &answer) {
    each_tensor(answer, [&](const Const &c) {
      const at::Tensor &t = c.tensor;
      any_ = true;
      if (t.numel() == 0) return;
      empty_ = false;
      if (at::isFloatingType(t.scalar_type())) look(t);
    });
  }

  // What all floating-point tensors are, "all zero"; "" where they tell something.
  std::string blindness() const {
    if (any_ && empty_) return "empty";
    if (tensors_ == 0) return "";
    if (nan_) return "NaN everywhere";
    if (!constant_) return "";
    return zero_ ? "all zero" : many_ ? "constant" : "";
  }

 private:
  void look(const at::Tensor &t) {
    const at::Tensor first = t.reshape({-1})[0];
    const double value = first.item<double>();
    if (tensors_++ == 0) value_ = value;
    if (t.numel() > 1) many_ = true;
    if (value != value_) constant_ = false;
    if (value != 0) zero_ = false;
    if (t.isnan().all().item<bool>()) return;
    nan_ = false;
    if (!t.eq(first).all().item<bool>()) constant_ = false;
  }

  size_t tensors_ = 0;
  double value_ = 0;  // the first of all
  bool any_ = false, empty_ = true;
  bool nan_ = true, zero_ = true, constant_ = true, many_ = false;
};

// Whether an answer has tensors, and none of them an element.
bool is_empty(const Const &answer) {
  Sight sight;
  sight.look(answer);
  return sight.blindness() == "empty";
}

bool has_empty(const Const &answer) {
  bool found = false;
  each_tensor(answer, [&](const Const &c) { found |= c.tensor.numel() == 0; });
  return found;
}

// ---- What tracing fixed --------------------------------------------------------------------------

// Whether PyTorch's own run of the graph gives what the model does, but for rounding, or the model refuses
// these arguments.
bool graph_agrees(const Subject &s, const std::string &method, const std::vector<Const> &args) {
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

// Where it is PyTorch's own trace that answers otherwise than the model, as the inputs are not the
// example's: of which inputs that is; else "".
std::string fixed_text(const Subject &s, const std::string &method,
                       const std::vector<Const> &inputs, const std::vector<Example> &examples) {
  if (!s.options.graph || s.options.graph_is_reference || graph_agrees(s, method, inputs))
    return "";
  std::string names;
  for (const Example &e : examples) {
    if (e.method != method || e.store || e.only_compared || !e.grown.empty()) continue;
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
         ": PyTorch's own trace gives for made-up inputs, of the example's sizes, something "
         "else than the model. Export torch.jit.script(model) or torch.export.export(model, "
         "example_inputs), which can keep such numbers open; or make them arguments that are no "
         "tensors; or, where the example's are right for all inputs to come, export with "
         "test_vectors=False";
}

// ---- Examples ------------------------------------------------------------------------------------

class Verification {
 public:
  Verification(NativeSession *session, const Subject &subject, const std::vector<Example> &examples,
               Report *report)
      : session_(session), s_(subject), examples_(examples), report_(report) {}

  // Runs the written file and compares. Throws RuntimeError where an answer differs.
  void compare_all() {
    Sight sight;
    for (const Example &example : examples_) {
      if (!compare_one(example)) continue;
      if (!sees(example)) continue;
      sight.look(*example.expected);
      count(example);
    }
    warn(sight);
  }

  // Runs the written file, whose weights have fewer bits, and measures what that costs.
  void measure_all() {
    for (const Example &example : examples_) {
      if (example.made_up) continue;
      measure_one(example);
      count(example);
    }
    report_->quantized.measured = report_->verified > 0;
  }

  // Replays what the file holds, as its users will.
  bool replay() {
    bool changed = false;
    for (size_t i = 0; i < session_->test_count(); i++) changed |= replay_one(i);
    return changed;
  }

 private:
  std::string output_name(const Example &example) const {
    const std::vector<Port> &ports = s_.program.methods[session_->method(example.method)].outputs;
    if (ports.size() == 1) return "output '" + ports[0].name + "'";
    return example.method == "forward" ? "the output" : "the output of " + example.method;
  }

  void count(const Example &example) {
    if (example.made_up) return;
    report_->verified++;
    report_->real |= example.store || example.only_compared;
    if (!example.grown.empty()) report_->tried.push_back(example.grown);
  }

  // Where made-up values decide, it is tracing that is wrong and not the file.
  [[noreturn]] void refuse(const Example &example, const std::string &where) {
    const std::string fixed =
        example.made_up ? fixed_text(s_, example.method, example.args, examples_) : "";
    if (!fixed.empty()) throw baked_error(RUSH_ERR_MISMATCH, "values", fixed + " (" + where + ")");
    refuse_difference(s_.program, where, report_->not_measured, example);
  }

  Const run(const Example &example) {
    try {
      return run_example(session_, example);
    } catch (const RuntimeError &e) {
      if (!example.made_up) throw;
      const std::string fixed = fixed_text(s_, example.method, example.args, examples_);
      if (fixed.empty()) throw;
      throw baked_error(e.status, "values", fixed + " (" + e.what() + ")");
    }
  }

  // False where PyTorch's own answer changes.
  bool compare_one(const Example &example) {
    const Const got = run(example);
    const std::string name = output_name(example);
    Difference d = compare(got, *example.expected, example.rtol, example.atol, name);
    if (!d.ok && !example.store && !repeats(example, s_.reference)) {
      report_->not_verified = "the model answers differently each time";
      return false;
    }
    if (!d.ok && !example.literal) d = compare_measured(got, example, name);
    if (!example.made_up) keep(d, report_);
    if (!d.ok) refuse(example, d.where);
    return true;
  }

  Difference compare_measured(const Const &got, const Example &example, const std::string &name) {
    const Measured measured = s_.measurer(example);
    report_->not_measured = measured.why_not;
    const Difference d =
        compare(got, *example.expected, example.rtol, example.atol, name, &measured.list);
    if (d.ok || !measured.why_not.empty()) return d;
    const std::vector<rush_distance> several = s_.measurer.several(example);
    return compare(got, *example.expected, example.rtol, example.atol, name, &measured.list,
                   &several);
  }

  // ---- Empty answers

  // What comes before operators whose results' sizes depend on values, here and in PyTorch, compared:
  // how many tensors. Throws RuntimeError where one differs.
  size_t compare_before(const Example &example, std::string *where) {
    const std::vector<Filter> want =
        filters_during([&] { s_.reference(example.method, example.args); });
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
        bool astray = false;
        const std::vector<Measure> measures =
            measures_of(wanted, known ? &wide : nullptr, false, &astray);
        const Difference d =
            compare(const_tensor(got[i].tensors[k]), wanted, measures[0].rtol, measures[0].atol,
                    "what comes before " + got[i].where, &measures);
        if (!d.ok) refuse(example, d.where);
      }
    }
    return n;
  }

  std::vector<Filter> exact_filters(const Example &example) const {
    if (!s_.options.graph) return {};
    try {
      return filters_during([&] { s_.options.graph(example.method, example.args, true); });
    } catch (const std::exception &) {
      return {};
    }
  }

  // Whether a comparison of this example shows anything: where answers are empty, that of what comes
  // before them has to.
  bool sees(const Example &example) {
    if (!has_empty(*example.expected) || example.method != s_.program.methods[0].name) return true;
    std::string where;
    const size_t compared = compare_before(example, &where);
    if (!is_empty(*example.expected)) return true;
    if (compared > 0) {
      before_ = where;
      return true;
    }
    if (example.grown.empty()) return true;  // Sight tells
    if (s_.options.tracer_warned)
      throw sizes_error(
          RUSH_ERR_MISMATCH, example,
          "nothing shows whether the exported model is right" + at_sizes(example) +
              ": PyTorch's answer is empty there, and tracing warned of what it fixes. "
              "Give an example in which something is found");
    unseen_ += (unseen_.empty() ? "" : "; ") + example.grown;
    return false;
  }

  void warn(const Sight &sight) {
    const std::string blind = report_->verified ? sight.blindness() : "";
    if (!before_.empty())
      report_->warnings.push_back(
          "PyTorch's answers to some inputs are empty, which shows nothing: what comes before " +
          before_ + " was compared in their place; give an example in which something is found");
    else if (!blind.empty())
      report_->warnings.push_back(
          "the verification sees nothing: PyTorch's answers are " + blind +
          ", which a wrong program would give, too; give weights or inputs with "
          "which they are not");
    if (!unseen_.empty())
      report_->warnings.push_back("nothing was compared at " + unseen_ +
                                  ", where PyTorch's answer is empty: give an example in which "
                                  "something is found");
  }

  // ---- Fewer bits

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

  // Where values decide how many rows an answer has: what comes before, and rows that belong together.
  // False where they do not.
  bool measure_matched(const Const &got, const Example &example) {
    if (example.method != s_.program.methods[0].name || !s_.filters.any_of_size()) return false;
    const std::vector<Filter> want =
        filters_during([&] { s_.reference(example.method, example.args); });
    const auto of_size = [](const Filter &f) { return f.is_of_size; };
    if (std::none_of(want.begin(), want.end(), of_size)) return false;
    std::set<const Node *> nodes;
    const std::vector<Filter> own = s_.filters.during(&s_.program, example.args, s_.open, &nodes);
    for (size_t i = 0; i < std::min(own.size(), want.size()); i++) {
      if (own[i].op != want[i].op || own[i].tensors.size() != want[i].tensors.size()) break;
      for (size_t k = 0; k < own[i].tensors.size(); k++)
        if (own[i].tensors[k].sizes() == want[i].tensors[k].sizes())
          add_distance(const_tensor(own[i].tensors[k]), const_tensor(want[i].tensors[k]),
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
      if (!fixed.empty()) throw baked_error(e.status, "values", fixed + " (" + e.what() + ")");
      if (e.status != RUSH_ERR_MISMATCH) throw;
      if (relax(&test, method)) return true;
      Example example;
      example.rtol = static_cast<double>(test.rtol);
      example.atol = static_cast<double>(test.atol);
      refuse_difference(s_.program, e.what(), "", example);
    }
  }

  // Where PyTorch's distances on several inputs show that an answer is right: has the test vector say
  // so, by a tolerance for the norm of each value.
  bool relax(Test *test, const std::string &method) {
    Example example;
    example.method = method;
    example.args = test->inputs;
    example.expected = test->output;
    const std::vector<rush_distance> several = s_.measurer.several(example);
    if (test->measures.empty() || several.size() != test->measures.size()) return false;
    const Const got = run_example(session_, example);
    if (!compare(got, test->output, 0, 0, "", &test->measures, &several).ok) return false;
    for (size_t k = 0; k < several.size(); k++) {
      Measure &m = test->measures[k];
      if (several[k].max == 0) continue;
      m.exact.reset();
      m.rtol = std::max(m.rtol, 2 * kSeveralMultiple * std::max(several[k].max, several[k].l2));
    }
    return compare(got, test->output, 0, 0, "", &test->measures).ok;
  }

  NativeSession *session_;
  const Subject &s_;
  const std::vector<Example> &examples_;
  Report *report_;
  std::string before_, unseen_;  // where values before a filter were compared; where nothing was
};

}  // namespace

bool verify_file(NativeSession *session, const Subject &subject,
                 const std::vector<Example> &examples, Report *report) {
  Verification verification(session, subject, examples, report);
  if (report->quantized.layers > 0)
    verification.measure_all();
  else
    verification.compare_all();
  return verification.replay();
}

// Has test vectors expect what the file answers, but for those that are the user's own: all of a file
// of fewer bits, else those that are not close, as where PyTorch's engine rounds to another step.
void expect_own(NativeSession *session, Program &program, bool all,
                std::vector<std::string> *warnings) {
  std::vector<Test> tests;
  for (Test &test : program.tests) {
    Example example;
    example.method = program.methods[test.method].name;
    example.args = test.inputs;
    const Const own = run_example(session, example);
    const bool kept = test.held || (!all && compare(own, test.output, test.rtol, test.atol, "").ok);
    if (kept || expect_own(own, &test))
      tests.push_back(std::move(test));
    else
      warnings->push_back(
          "no test vector is stored: with fewer bits the model chooses otherwise than PyTorch");
  }
  program.tests = std::move(tests);
}

}  // namespace rush
