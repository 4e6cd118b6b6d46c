#include "export.h"

#include <ATen/ops/eq.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/reshape.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "base/counted.h"
#include "base/json.h"
#include "base/seed.h"
#include "examples.h"
#include "front/torchscript.h"
#include "ir/unsupported.h"
#include "measure.h"
#include "passes/decompose.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "promises.h"
#include "run/compare.h"
#include "run/native.h"
#include "unrolled.h"
#include "write/encode.h"

namespace rush {

namespace {

void rename_ports(Program &program, const ExportOptions &options) {
  auto rename = [](std::vector<Port> &ports, const std::vector<std::string> &names,
                   const char *what) {
    if (names.empty()) return;
    if (names.size() > ports.size() ||
        (std::string(what) == "output" && names.size() != ports.size()))
      throw std::invalid_argument(std::to_string(names.size()) + " " + what +
                                  " names are given; the model has " +
                                  std::to_string(ports.size()) + " " + what + "s");
    for (size_t i = 0; i < names.size(); i++)
      if (!names[i].empty()) ports[i].name = names[i];
    for (size_t i = 0; i < ports.size(); i++)
      for (size_t k = 0; k < i; k++)
        if (ports[i].name == ports[k].name)
          throw std::invalid_argument(std::string("two ") + what + "s are called '" +
                                      ports[i].name + "'");
  };
  rename(program.methods[0].inputs, options.input_names, "input");
  rename(program.methods[0].outputs, options.output_names, "output");
}

void make_unique(std::vector<Port> &ports) {
  std::vector<std::string> names;
  for (const Port &port : ports) names.push_back(port.name);
  names = unique_names(std::move(names));
  for (size_t i = 0; i < ports.size(); i++) ports[i].name = std::move(names[i]);
}

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

std::string missing_text(const std::vector<OpCount> &missing) {
  std::string out = "the runtime lacks " + counted(missing.size(), "operator") + " of this model:";
  for (const OpCount &row : missing)
    out += "\n  " + row.op + ", " + counted(row.count, "time") +
           (row.where.empty() ? "" : ", at " + row.where);
  return out;
}

// Whether an operator has to do with quantised tensors, or with packed quantised weights.
bool is_quantised(const std::string &op) {
  for (const char *start :
       {"quantized::", "aten::quantize_", "aten::quantized_", "aten::dequantize"})
    if (op.rfind(start, 0) == 0) return true;
  return false;
}

// Whether an operator makes tensors of a sparse layout, or takes only such.
bool is_sparse(const std::string &op) {
  return op.find("sparse") != std::string::npos || op == "aten::to_dense" ||
         op == "aten::_to_dense";
}

// What to do about sparse tensors, quantised models, and operators that are nobody's but the user's.
std::string supply_text(const std::vector<OpCount> &missing) {
  for (const OpCount &row : missing)
    if (is_sparse(row.op))
      return "\nRushlight has no sparse layouts: hold such tensors dense (to_dense(), before the "
             "model is "
             "exported), and add elements at places with index_put or index_add";
  for (const OpCount &row : missing)
    if (is_quantised(row.op))
      return "\nnot everything of quantised models is there yet: leave these layers as they were "
             "before quantisation";
  for (const OpCount &row : missing)
    if (row.op.rfind("aten::", 0) != 0 && row.op.rfind("prim::", 0) != 0)
      return "\nan operator of your own: say what it is made of "
             "(rushlight.register_decomposition), or "
             "write the file all the same (allow_missing, --allow-missing) and supply it where the "
             "file runs (in JavaScript load(url, { ops }), in C rushlight/op.h)";
  return "";
}

std::string port_text(const Port &port) {
  std::string out = port.name + ": ";
  if (!port.has_hint) return out + to_string(*port.type);
  out += dtype_name(static_cast<at::ScalarType>(port.dtype));
  out += "[";
  for (size_t d = 0; d < port.sizes.size(); d++)
    out += (d ? ", " : "") + (port.sizes[d] < 0 ? std::string("?") : std::to_string(port.sizes[d]));
  return out + "]";
}

Reference seeded(const Reference &reference) {
  return [&reference](const std::string &method, const std::vector<Const> &args) {
    const TestSeed seed;
    return reference(method, args);
  };
}

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
std::string at_sizes(const std::string &grown) {
  return grown.empty() ? ""
                       : " at sizes beyond the example's, which are promised open (" + grown + ")";
}

// Whether this processor has oneDNN add up products of bytes in 16 bits, of which two may not fit.
bool overflows_in_onednn() {
#ifdef __x86_64__
  return !__builtin_cpu_supports("avx512vnni") && !__builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

template <class Test>
bool any_node(const Program &program, Test test) {
  for (const Method &m : program.methods)
    for (const Node *node : all_nodes(*m.graph))
      if (test(*node)) return true;
  return false;
}

// A layer that torch.ao quantised for its engine oneDNN.
bool is_of_onednn(const Node &node) {
  const Const *qnnpack = node.op == "rush::quantised_conv" ? node.constant(5) : nullptr;
  return qnnpack && !qnnpack->i;
}

// Computes with integers, as torch.ao made it.
bool is_of_integers(const Node &node) {
  return node.op.rfind("rush::quantised_", 0) == 0;
}

// Why PyTorch's own answer may be wrong.
std::string engine_text(const Program &program) {
  if (!overflows_in_onednn() || !any_node(program, is_of_onednn)) return "";
  return "; this processor has no VNNI, without which the sums of PyTorch's engine onednn "
         "overflow where weights and activations have 8 bits: quantise with 7 of them "
         "(reduce_range), or with torch.backends.quantized.engine = 'qnnpack'";
}

[[noreturn]] void refuse_difference(const Program &program, const std::string &where,
                                    const std::string &not_measured,
                                    const std::string &grown = "") {
  throw RuntimeError(
      RUSH_ERR_MISMATCH,
      "the exported model differs from PyTorch" + at_sizes(grown) + ": " + where +
          (not_measured.empty() ? "" : "; float64's answer is not known: " + not_measured) +
          engine_text(program));
}

Const run_example(NativeSession *session, const Example &example) {
  session->reset();
  session->manual_seed(RUSH_TEST_SEED);
  try {
    return session->run(session->method(example.method), example.args);
  } catch (const RuntimeError &e) {
    throw RuntimeError(
        e.status, "the exported model does not run" + at_sizes(example.grown) + ": " + e.what());
  }
}

// Whether answers tell anything: a head that was initialised to zero gives the same whatever stands
// before it.
class Sight {
 public:
  void look(const Const &answer) {
    each_tensor(answer, [&](const Const &c) {
      const at::Tensor &t = c.tensor;
      if (!at::isFloatingType(t.scalar_type()) || t.numel() == 0) return;
      const at::Tensor first = t.reshape({-1})[0];
      const double value = first.item<double>();
      if (tensors_++ == 0) value_ = value;
      if (t.numel() > 1) many_ = true;
      if (value != value_) constant_ = false;
      if (value != 0) zero_ = false;
      if (!t.isnan().all().item<bool>()) {
        nan_ = false;
        if (!t.eq(first).all().item<bool>()) constant_ = false;
      }
    });
  }

  // What all floating-point tensors are, "all zero"; "" where they tell something.
  std::string blindness() const {
    if (tensors_ == 0) return "";
    if (nan_) return "NaN everywhere";
    if (!constant_) return "";
    return zero_ ? "all zero" : many_ ? "constant" : "";
  }

 private:
  size_t tensors_ = 0;
  double value_ = 0;  // the first of all
  bool nan_ = true, zero_ = true, constant_ = true, many_ = false;
};

// Runs the written file and compares. Throws RuntimeError where an answer differs.
void verify_examples(NativeSession *session, const Program &program,
                     const std::vector<Example> &examples, const Reference &reference,
                     const Measurer &measurer, Report *report) {
  Sight sight;
  for (const Example &example : examples) {
    sight.look(*example.expected);
    const Const got = run_example(session, example);
    std::string name =
        example.method == "forward" ? "the output" : "the output of " + example.method;
    const std::vector<Port> &ports = program.methods[session->method(example.method)].outputs;
    if (ports.size() == 1) name = "output '" + ports[0].name + "'";
    Difference d = compare(got, *example.expected, example.rtol, example.atol, name);
    if (!d.ok && !example.store && !repeats(example, reference)) {
      report->not_verified = "the model answers differently each time";
      continue;
    }
    if (!d.ok && !example.literal) {
      const Measured measured = measurer(example);
      report->not_measured = measured.why_not;
      d = compare(got, *example.expected, example.rtol, example.atol, name, &measured.list);
    }
    keep(d, report);
    if (!d.ok) refuse_difference(program, d.where, report->not_measured, example.grown);
    report->verified++;
    if (!example.grown.empty()) report->tried.push_back(example.grown);
  }
  const std::string blind = report->verified ? sight.blindness() : "";
  if (!blind.empty())
    report->warnings.push_back(
        "the verification sees nothing: PyTorch's answers are " + blind +
        ", which a wrong program would give, too; give weights or inputs with "
        "which they are not");
}

// Runs the written file, whose weights have fewer bits, and measures what that costs.
void measure_examples(NativeSession *session, const Program &program,
                      const std::vector<Example> &examples, Report *report) {
  for (const Example &example : examples) {
    const Const got = run_example(session, example);
    const Difference d =
        compare(got, *example.expected, example.rtol, example.atol,
                "an output of " + program.methods[session->method(example.method)].name);
    if (!d.ok && example.given && example.literal)
      refuse_difference(program, d.where, "", example.grown);
    report->max_abs = std::max(report->max_abs, d.max_abs);
    report->max_rel = std::max(report->max_rel, d.max_rel);
    try {
      add_distance(got, *example.expected, &report->quantised);
    } catch (const std::runtime_error &e) {
      refuse_difference(program, e.what(), "", example.grown);
    }
    report->verified++;
    if (!example.grown.empty()) report->tried.push_back(example.grown);
  }
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

// Whether PyTorch's own run of the graph gives what the model does, or the model refuses these arguments.
bool graph_agrees(const Test &test, const std::string &method, const std::vector<Const> &args,
                  const ExportOptions &options, const Reference &reference) {
  Const wanted;
  try {
    wanted = snapshot({reference(method, args)})[0];
  } catch (const std::exception &) {
    return true;
  }
  try {
    return compare(options.graph(method, args, false), wanted, test.rtol, test.atol, "").ok;
  } catch (const std::exception &) {
    return false;
  }
}

// Where it is PyTorch's own trace that answers otherwise than the model, as the inputs are not the
// example's: of which inputs that is; else "".
std::string fixed_text(const Program &program, const Test &test,
                       const std::vector<Example> &examples, const ExportOptions &options,
                       const Reference &reference) {
  const Method &m = program.methods[test.method];
  if (!options.graph || options.graph_is_reference ||
      graph_agrees(test, m.name, test.inputs, options, reference))
    return "";
  std::string names;
  for (const Example &e : examples) {
    if (e.method != m.name || e.store || !e.grown.empty()) continue;
    for (size_t i = 0; i < e.args.size(); i++) {
      std::vector<Const> args = e.args;
      args[i] = test.inputs[i];
      if (!graph_agrees(test, m.name, args, options, reference))
        names += (names.empty() ? "" : ", ") + m.inputs[i].name;
    }
    break;
  }
  return "tracing fixed numbers that depend on " +
         (names.empty() ? "inputs together" : "the values of " + names) +
         ": PyTorch's own trace gives for made-up inputs, of the example's sizes and ranges, "
         "something "
         "else than the model. Export torch.jit.script(model) or torch.export.export(model, "
         "example_inputs), which can keep such numbers open; or make them arguments that are no "
         "tensors; or, where the example's are right for all inputs to come, export with "
         "test_vectors=False";
}

// Replays what the file holds, as its users will.
void verify_tests(NativeSession *session, const Program &program,
                  const std::vector<Example> &examples, const ExportOptions &options,
                  const Reference &reference, Report *report) {
  for (size_t i = 0; i < session->test_count(); i++) {
    rush_verify_report found = {};
    try {
      session->verify(i, &found);
      keep(found, report);
    } catch (const RuntimeError &e) {
      const std::string fixed = fixed_text(program, program.tests[i], examples, options, reference);
      if (!fixed.empty()) throw RuntimeError(e.status, fixed + " (" + e.what() + ")");
      if (e.status != RUSH_ERR_MISMATCH) throw;
      refuse_difference(program, e.what(), "");
    }
  }
}

void verify_file(NativeSession *session, const Program &program,
                 const std::vector<Example> &examples, const ExportOptions &options,
                 const Reference &reference, const Measurer &measurer, Report *report) {
  if (report->quantised.layers > 0)
    measure_examples(session, program, examples, report);
  else
    verify_examples(session, program, examples, reference, measurer, report);
  verify_tests(session, program, examples, options, reference, report);
}

// Puts what a run in float64 gave beside what PyTorch's run did. Where nodes ran more often in one
// of them, it is not known which runs belong together.
void add_exact(Trace *trace, Trace exact) {
  trace->exact = std::move(exact.result);
  auto other = exact.nodes.begin();
  for (auto at = trace->nodes.begin(); at != trace->nodes.end();) {
    const uint64_t handle = at->handle;
    const auto is_of = [&](const Traced &node) { return node.handle == handle; };
    const auto end = std::find_if_not(at, trace->nodes.end(), is_of);
    while (other != exact.nodes.end() && other->handle < handle) ++other;
    const auto other_end = std::find_if_not(other, exact.nodes.end(), is_of);
    if (end - at == other_end - other)
      for (; at != end; ++at, ++other)
        if (at->results.size() == other->results.size()) at->exact = std::move(other->results);
    at = end;
  }
}

}  // namespace

Trace trace_both(const Tracer &tracer, const std::string &method, const std::vector<Const> &args) {
  Trace out = tracer(method, args, false);
  try {
    add_exact(&out, tracer(method, args, true));
  } catch (const std::exception &) {
    // It has no float64 form: the norm of each value decides.
  }
  return out;
}

namespace {

// What PyTorch's nodes give during the first test vector, of those that instructions come from.
void add_trace(Program &program, const Tracer &tracer, std::vector<std::string> *warnings) {
  if (program.tests.empty()) {
    warnings->push_back("no trace is stored: there is no test vector to run");
    return;
  }
  Test &test = program.tests[0];
  const Method &method = program.methods[test.method];
  std::set<uint64_t> handles;
  for (const Node *node : all_nodes(*method.graph)) handles.insert(node->source.handle);
  for (Traced &node : trace_both(tracer, method.name, test.inputs).nodes)
    if (handles.count(node.handle)) test.traced.push_back(std::move(node));
}

std::unique_ptr<NativeSession> load_written(const std::string &path) {
  try {
    return NativeSession::open(path);
  } catch (const RuntimeError &e) {
    throw RuntimeError(e.status,
                       std::string("the runtime refuses the exported model: ") + e.what());
  }
}

}  // namespace

std::vector<std::string> unique_names(std::vector<std::string> names) {
  std::set<std::string> taken(names.begin(), names.end());
  std::set<std::string> used;
  for (std::string &name : names) {
    if (used.insert(name).second) continue;
    const std::string given = name;
    for (int n = 1; !taken.insert(name).second; n++) name = given + "_" + std::to_string(n);
  }
  return names;
}

namespace {

// What operators of a graph are made of: the user's words, else ours.
Decompositions known_of(const Graph &graph, const Decompositions &given) {
  Decompositions out = given;
  for (const Node *node : all_nodes(graph))
    if (!out.count(node->op))
      if (auto program = program_of_operator(node->op)) out[node->op] = program;
  return out;
}

// Arguments of the first method that calibrate it, and what a message calls them.
std::vector<Batch> calibration_of(const Program &program, const ExportOptions &options) {
  std::vector<Batch> out;
  for (const std::vector<Const> &args : options.calibration)
    out.push_back({"calibration[" + std::to_string(out.size()) + "]", args});
  if (out.empty())
    for (const Example &example : examples_of(program, options))
      if (example.method == program.methods[0].name)
        out.push_back({"calibration by the example inputs", example.args});
  if (out.empty())
    throw std::invalid_argument("quantize='" + options.bits.name +
                                "' finds the ranges of activations by running the model: give "
                                "example_inputs or calibration");
  for (const Batch &batch : out)
    if (batch.args.size() != program.methods[0].inputs.size())
      throw std::invalid_argument(batch.name + " has " + counted(batch.args.size(), "argument") +
                                  "; the model takes " +
                                  std::to_string(program.methods[0].inputs.size()));
  for (const Batch &batch : out)
    for (const Const &c : batch.args)
      if (c.is_tensor() && c.tensor.is_floating_point() && !c.tensor.isfinite().all().item<bool>())
        throw std::invalid_argument(batch.name +
                                    " holds NaN or infinity, which has no range: leave it out");
  return out;
}

// One function has so much text where tracing has unrolled a loop.
constexpr size_t kLongText = 1 << 20;

void drop_long_texts(std::vector<Text> *texts, std::vector<std::string> *warnings) {
  std::vector<Text> kept;
  for (Text &text : *texts) {
    if (text.text.size() <= kLongText) {
      kept.push_back(std::move(text));
      continue;
    }
    warnings->push_back(
        "PyTorch's " + std::string(text.kind == RUSH_TEXT_GRAPH ? "graph" : "code") +
        (text.module.empty() ? "" : " of " + text.module) + " is " +
        std::to_string(text.text.size() >> 20) + " MiB of text, which is not stored");
  }
  *texts = std::move(kept);
}

}  // namespace

Report export_program(Program &program, const ExportOptions &options, const Reference &unseeded) {
  const Reference reference = seeded(unseeded);
  const Measurer measurer(program, options);
  Report report;
  report.path = options.path;
  for (Method &m : program.methods) {
    make_unique(m.inputs);
    make_unique(m.outputs);
  }
  rename_ports(program, options);
  for (Method &m : program.methods) {
    decompose(*m.graph, options.decompositions);
    plain_operators(*m.graph);
    split_out(*m.graph);
    split_in_place(*m.graph);
    while (decompose(*m.graph, known_of(*m.graph, options.decompositions))) {
    }
  }
  const auto dump = options.dump ? options.dump : [](const std::string &) {};
  run_pipeline(pipeline(), program, options.dump_after, dump);
  for (const Method &m : program.methods)
    if (std::string note = unrolled_note(*m.graph); !note.empty())
      report.warnings.push_back(m.name + ": " + note);
  drop_long_texts(&program.texts, &report.warnings);
  if (options.bits.kind == Bits::INT8_STATIC && count_ops(program, true).empty())
    quantise_convolutions(
        program, calibration_of(program, options),
        [&](const Program &p) {
          PendingFile trial(encode(p, {}), options.path);
          return load_written(trial.temporary());
        },
        &report.quantised);
  quantise(program, options.bits, &report.quantised);
  run_pipeline(late_pipeline(), program, options.dump_after, dump);
  if (!report.quantised.name.empty() && report.quantised.layers == 0)
    report.warnings.push_back(
        "nothing has fewer bits: there is no layer of " + std::to_string(kLeastQuantised) +
        " constant float32 weights" +
        (options.bits.kind == Bits::INT8_STATIC
             ? ", and no convolution of constant float32 weights and finite activations"
             : ""));

  report.missing = count_ops(program, true);
  if (!report.missing.empty() && !options.allow_missing)
    throw Unsupported(missing_text(report.missing) + supply_text(report.missing));
  report.ops = count_ops(program, false);

  std::vector<Example> examples = examples_of(program, options);
  const std::vector<Promise> promises = promises_of(program, options, examples);
  add_grown(program, promises, reference, &examples, &report.warnings);
  answer(&examples, reference, measurer.single_numbers());
  give_hints(program, examples);
  add_tests(program, examples, options, reference, measurer, &report.warnings);

  if (options.tracer) add_trace(program, options.tracer, &report.warnings);
  const bool fewer = report.quantised.layers > 0;
  if ((fewer || any_node(program, is_of_integers)) && report.missing.empty()) {
    PendingFile trial(encode(program, promises), options.path);
    expect_own(load_written(trial.temporary()).get(), program, fewer, &report.warnings);
  }

  Encoded encoded = encode(program, promises);
  report.file_bytes = encoded.file_bytes();
  report.weights_bytes = encoded.weights_bytes - encoded.test_bytes;
  report.test_vectors = program.tests.size();
  for (const Port &p : program.methods[0].inputs) report.inputs.push_back(port_text(p));
  for (const Port &p : program.methods[0].outputs) report.outputs.push_back(port_text(p));
  for (const Attribute &a : program.attributes) report.state.push_back(a.name);

  PendingFile file(encoded, options.path);
  std::unique_ptr<NativeSession> session;  // a file that the runtime refuses is refused here
  if (report.missing.empty()) session = load_written(file.temporary());
  if (!options.verify)
    report.not_verified = "it was asked not to";
  else if (!session)
    report.not_verified = "operators are missing";
  else if (examples.empty())
    report.not_verified = "no example inputs were given";
  else
    verify_file(session.get(), program, examples, options, reference, measurer, &report);
  file.commit();
  return report;
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

}  // namespace

std::string to_string(const Report &report) {
  auto join = [](const std::vector<std::string> &items) {
    std::string out;
    for (const std::string &s : items) out += (out.empty() ? "" : ", ") + s;
    return out.empty() ? std::string("none") : out;
  };
  char line[200];
  std::string out = report.path + "\n";
  std::snprintf(line, sizeof line, "  size      %llu bytes, of these %llu weights\n",
                static_cast<unsigned long long>(report.file_bytes),
                static_cast<unsigned long long>(report.weights_bytes));
  out += line;
  if (!report.quantised.name.empty()) out += to_string(report.quantised);
  out += "  inputs    " + join(report.inputs) + "\n  outputs   " + join(report.outputs) + "\n";
  if (!report.state.empty()) out += "  state     " + join(report.state) + "\n";
  std::string ops;
  for (const OpCount &row : report.ops)
    ops += (ops.empty() ? "" : ", ") + row.op + " " + std::to_string(row.count);
  out += "  operators " + (ops.empty() ? "none" : ops) + "\n";
  if (!report.missing.empty()) out += "  missing   " + missing_text(report.missing) + "\n";
  out += "  tests     " + counted(report.test_vectors, "test vector") + " stored\n";
  if (report.verified > 0) {
    std::snprintf(line, sizeof line, "  %s against PyTorch on %s: max abs %.3g, max rel %.3g\n",
                  report.quantised.layers > 0 ? "measured " : "verified ",
                  counted(report.verified, "input").c_str(), report.max_abs, report.max_rel);
    out += line;
    if (report.quantised.layers > 0) {
      std::snprintf(line, sizeof line,
                    "  error     %.3g of the greatest element, L2 %.3g, cosine %.6f\n",
                    report.quantised.max, report.quantised.l2, report.quantised.cosine);
      out += line;
    }
    for (const std::string &sizes : report.tried) out += "  also at   " + sizes + "\n";
    out += float64_text(report);
  } else {
    out += "  not verified: " + report.not_verified + "\n";
  }
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
  const Quantised &q = report.quantised;
  if (!q.name.empty())
    field("quantised",
          "{\"bits\": " + json_text(q.name) + ", \"layers\": " + std::to_string(q.layers) +
              ", \"kept\": " + std::to_string(q.kept) +
              ", \"before\": " + std::to_string(q.before) +
              ", \"after\": " + std::to_string(q.after) + ", \"max\": " + json_number(q.max) +
              ", \"l2\": " + json_number(q.l2) + ", \"cosine\": " + json_number(q.cosine) + "}");
  return out + "\n}\n";
}

}  // namespace rush
