#include "export/export.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "base/counted.h"
#include "base/seed.h"
#include "export/calibration.h"
#include "export/constraints.h"
#include "export/examples.h"
#include "export/measure.h"
#include "export/operators.h"
#include "export/ports.h"
#include "export/tracing.h"
#include "export/unrolled_loops.h"
#include "export/verify_file.h"
#include "front/torchscript.h"
#include "passes/decompose.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "run/native.h"
#include "write/encode.h"

namespace rush {

namespace {

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

std::unique_ptr<NativeSession> load_written(const std::string &path) {
  try {
    return NativeSession::open(path);
  } catch (const RuntimeError &e) {
    throw RuntimeError(e.status,
                       std::string("the runtime refuses the exported model: ") + e.what());
  }
}

// What operators of a graph are made of: the user's words, else ours.
Decompositions known_of(const Graph &graph, const Decompositions &given) {
  Decompositions out = given;
  for (const Node *node : all_nodes(graph))
    if (!out.count(node->op))
      if (auto program = program_of_operator(node->op)) out[node->op] = program;
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
  if (options.bits.kind == Bits::INT8_STATIC && missing_operators(program).empty())
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
  for (const Port &p : m.inputs) report->inputs.push_back(to_string(p));
  for (const Port &p : m.outputs) report->outputs.push_back(to_string(p));
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
  name_ports(program, options);
  const Filters filters(program);
  const Opener open = [&](const Program &p) {
    PendingFile trial(encode(p, {}), options.path);
    return load_written(trial.temporary());
  };
  lower(program, options, &report);
  give_fewer_bits(program, options, open, &report);
  report.missing = missing_operators(program);
  if (!report.missing.empty() && !options.allow_missing) refuse_missing(report.missing);
  report.ops = operators_of(program);

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
