#include "export.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "base/counted.h"
#include "base/seed.h"
#include "constraints.h"
#include "examples.h"
#include "front/torchscript.h"
#include "ir/unsupported.h"
#include "measure.h"
#include "passes/decompose.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "run/native.h"
#include "unrolled.h"
#include "verify.h"
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

// Whether an operator has to do with quantized tensors, or with packed quantized weights.
bool is_quantized(const std::string &op) {
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

// What to do about sparse tensors, quantized models, and operators that are nobody's but the user's.
std::string supply_text(const std::vector<OpCount> &missing) {
  for (const OpCount &row : missing)
    if (is_sparse(row.op))
      return "\nRushlight has no sparse layouts: hold such tensors dense (to_dense(), before the "
             "model is "
             "exported), and add elements at places with index_put or index_add";
  for (const OpCount &row : missing)
    if (is_quantized(row.op))
      return "\nnot everything of quantized models is there yet: leave these layers as they were "
             "before quantization";
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

// Computes with integers, as torch.ao made it.
bool is_of_integers(const Node &node) {
  return node.op.rfind("rush::quantized_", 0) == 0;
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
      if (example.method == program.methods[0].name && !example.only_compared)
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

namespace {

// The program as the runtime's operators have it.
void lower(Program &program, const ExportOptions &options, Report *report) {
  for (Method &m : program.methods) {
    decompose(*m.graph, options.decompositions);
    plain_operators(*m.graph);
    split_out(*m.graph);
    split_in_place(*m.graph);
    while (decompose(*m.graph, known_of(*m.graph, options.decompositions))) {
    }
  }
  run_pipeline(pipeline(), program, options.dump_after, options.dump);
  for (const Method &m : program.methods)
    if (std::string note = unrolled_note(*m.graph); !note.empty())
      report->warnings.push_back(m.name + ": " + note);
  drop_long_texts(&program.texts, &report->warnings);
}

void give_fewer_bits(Program &program, const ExportOptions &options, const Opener &open,
                     Report *report) {
  if (options.bits.kind == Bits::INT8_STATIC && count_ops(program, true).empty())
    quantize_convolutions(program, calibration_of(program, options), open, &report->quantized);
  quantize(program, options.bits, &report->quantized);
  run_pipeline(late_pipeline(), program, options.dump_after, options.dump);
  if (!report->quantized.name.empty() && report->quantized.layers == 0)
    report->warnings.push_back(
        "nothing has fewer bits: there is no layer of " + std::to_string(kLeastQuantized) +
        " constant float32 weights" +
        (options.bits.kind == Bits::INT8_STATIC
             ? ", and no convolution of constant float32 weights and finite activations"
             : ""));
}

// What the report tells of the file.
void describe(const Program &program, const Encoded &encoded, Report *report) {
  report->file_bytes = encoded.file_bytes();
  report->weights_bytes = encoded.weights_bytes - encoded.test_bytes;
  report->test_vectors = program.tests.size();
  const Method &m = program.methods[0];
  for (const Port &p : m.inputs) report->inputs.push_back(port_text(p));
  for (const Port &p : m.outputs) report->outputs.push_back(port_text(p));
  for (const Attribute &a : program.attributes) report->state.push_back(a.name);
}

std::string why_not_verified(const ExportOptions &options, const Report &report,
                             const std::vector<Example> &examples) {
  if (!options.verify) return "it was asked not to";
  if (!report.missing.empty()) return "operators are missing";
  return examples.empty() ? "no example inputs were given" : "";
}

// Writes the program and verifies the file, which stays where nothing is wrong.
void write(const Subject &subject, const std::vector<Constraint> &constraints,
           const std::vector<Example> &examples, Report *report) {
  report->not_verified = why_not_verified(subject.options, *report, examples);
  for (bool verified = !report->not_verified.empty();; verified = true) {
    const Encoded encoded = encode(subject.program, constraints);
    PendingFile file(encoded, subject.options.path);
    std::unique_ptr<NativeSession> session;  // a file that the runtime refuses is refused here
    if (report->missing.empty()) session = load_written(file.temporary());
    if (!verified && verify_file(session.get(), subject, examples, report)) continue;
    describe(subject.program, encoded, report);
    return file.commit();
  }
}

}  // namespace

Report export_program(Program &program, const ExportOptions &given, const Reference &unseeded) {
  const Reference reference = seeded(unseeded);
  ExportOptions options = given;
  if (!options.dump) options.dump = [](const std::string &) {};
  const Measurer measurer(program, options);
  Report report;
  report.path = options.path;
  report.random = measurer.random();
  for (Method &m : program.methods) {
    make_unique(m.inputs);
    make_unique(m.outputs);
  }
  rename_ports(program, options);
  const Filters filters(program);
  const Opener open = [&](const Program &p) {
    PendingFile trial(encode(p, {}), options.path);
    return load_written(trial.temporary());
  };
  lower(program, options, &report);
  give_fewer_bits(program, options, open, &report);
  report.missing = count_ops(program, true);
  if (!report.missing.empty() && !options.allow_missing)
    throw Unsupported(missing_text(report.missing) + supply_text(report.missing));
  report.ops = count_ops(program, false);

  std::vector<Example> examples = examples_of(program, options);
  const std::vector<Constraint> constraints = constraints_of(program, options, examples);
  check_multiples(program, constraints);
  answer(&examples, reference);
  add_grown(program, constraints, reference, &examples, &report.warnings);
  if (options.verify && options.test_vectors) add_other_integers(reference, &examples);
  settle(&examples, measurer.single_numbers());
  give_hints(program, examples);
  add_tests(program, examples, options, reference, measurer, &report.warnings);
  if (options.tracer) add_trace(program, options.tracer, &report.warnings);
  const bool fewer = report.quantized.layers > 0;
  if ((fewer || any_node(program, is_of_integers)) && report.missing.empty()) {
    PendingFile trial(encode(program, constraints), options.path);
    expect_own(load_written(trial.temporary()).get(), program, fewer, &report.warnings);
  }
  write({program, options, reference, measurer, filters, open}, constraints, examples, &report);
  return report;
}

}  // namespace rush
