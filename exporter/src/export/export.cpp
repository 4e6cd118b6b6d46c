#include "export/export.h"

#include "export/constraints.h"
#include "export/examples.h"
#include "export/measure.h"
#include "export/operators.h"
#include "export/pipeline.h"
#include "export/ports.h"
#include "export/tracing.h"
#include "export/unrolled_loops.h"
#include "export/verify_file.h"
#include "write/encode.h"

namespace rush {

namespace {

// Returns whether a node computes with integers, as in models that torch.ao quantized.
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

// The text of a function reaches this length if tracing has unrolled a loop.
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

ExportOptions with_dump(ExportOptions options) {
  if (!options.dump) options.dump = [](const std::string &) {};
  return options;
}

Report begin_report(const ExportOptions &options, const Measurer &measurer) {
  Report report;
  report.path = options.path;
  report.random = measurer.random();
  return report;
}

// Returns a function that loads a program without leaving a file.
Opener opener_of(const ExportOptions &options) {
  return [path = options.path](const Program &program) {
    PendingFile trial(encode(program, {}), path);
    return load_written(trial.temporary());
  };
}

// Calls of the program, and the sizes that callers may give.
struct Calls {
  std::vector<Example> examples;
  std::vector<Constraint> constraints;
};

Calls calls_of(const Program &program, const ExportOptions &options) {
  Calls out;
  out.examples = examples_of(program, options);
  out.constraints = constraints_of(program, options, out.examples);
  return out;
}

void warn_of_quantizing(const Bits &bits, Report *report) {
  for (const std::string &warning : uncalibrated_warnings(report->quantized))
    report->warnings.push_back(warning);
  if (report->quantized.name.empty() || report->quantized.layers > 0) return;
  report->warnings.push_back(
      "nothing was quantized: the model has no layer of at least " +
      std::to_string(kLeastQuantized) + " constant floating-point weights" +
      (bits.kind == Bits::INT8_STATIC
           ? ", and no convolution of constant float32 weights and finite activations"
           : ""));
}

// Throws Unsupported if the runtime lacks some, unless the options allow that.
void list_operators(const Program &program, const ExportOptions &options, Report *report) {
  for (const Method &m : program.methods)
    if (std::string note = unrolled_note(*m.graph); !note.empty())
      report->warnings.push_back(m.name + ": " + note);
  warn_of_quantizing(options.bits, report);
  report->missing = missing_operators(program);
  if (!report->missing.empty() && !options.calibration.empty())
    report->warnings.push_back("calibration is not used, because the runtime lacks operators");
  if (!report->missing.empty() && !options.allow_missing) refuse_missing(report->missing);
  report->ops = operators_of(program);
}

// Adds PyTorch's answers, calls with other sizes and integers, and tolerances.
void complete(Calls *calls, const ExportContext &s, Report *report) {
  run_reference(&calls->examples, s.reference);
  add_other_sizes(s.program, calls->constraints, s.reference, &calls->examples, &report->warnings);
  if (s.options.verify && s.options.test_vectors) add_other_integers(s.reference, &calls->examples);
  set_tolerances(&calls->examples, s.measurer.floats_from_float32());
  set_hints(s.program, calls->examples);
}

// Puts test vectors and a trace into the program.
void store_tests(const Calls &calls, const ExportContext &s, Report *report) {
  add_tests(s.program, calls.examples, s.options, s.reference, s.measurer, &report->warnings);
  if (s.options.tracer) add_trace(s.program, s.options.tracer, &report->warnings);
  const bool quantized = report->quantized.layers > 0;
  if (!report->missing.empty() || !(quantized || any_node(s.program, is_of_integers))) return;
  PendingFile trial(encode(s.program, calls.constraints), s.options.path);
  expect_file_answers(load_written(trial.temporary()).get(), s.program, quantized,
                      &report->warnings);
}

// Describes the file in the report.
void describe(const Program &program, const Encoded &encoded, Report *report) {
  report->file_bytes = encoded.file_bytes();
  report->weights_bytes = encoded.weights_bytes - encoded.test_bytes - encoded.asset_bytes;
  report->test_vectors = program.tests.size();
  const Method &m = program.methods[0];
  for (const Port &p : m.inputs) report->inputs.push_back(to_string(p));
  for (const Port &p : m.outputs) report->outputs.push_back(to_string(p));
  for (const Attribute &a : program.attributes) report->state.push_back(a.name);
}

std::string why_not_verified(const ExportOptions &options, const Report &report,
                             const std::vector<Example> &examples) {
  if (!options.verify) return "verify is off";
  if (!report.missing.empty()) return "the runtime lacks operators";
  return examples.empty() ? "no example inputs were given" : "";
}

// Writes the program and verifies the file, which stays only if it is correct.
void write(const Calls &calls, const ExportContext &subject, Report *report) {
  report->not_verified = why_not_verified(subject.options, *report, calls.examples);
  for (bool verified = !report->not_verified.empty();; verified = true) {
    const Encoded encoded = encode(subject.program, calls.constraints);
    PendingFile file(encoded, subject.options.path);
    std::unique_ptr<NativeSession> session;  // opening it refuses a file that the runtime refuses
    if (report->missing.empty()) session = load_written(file.temporary());
    if (!verified && verify_file(session.get(), subject, calls.examples, report)) continue;
    describe(subject.program, encoded, report);
    return file.commit();
  }
}

}  // namespace

Report export_program(Program &program, const ExportOptions &given, const Reference &reference) {
  const ExportOptions options = with_dump(given);
  const Measurer measurer(program, options);
  Report report = begin_report(options, measurer);
  name_ports(program, options);
  const Filters filters(program);  // passes replace some of them
  const Opener open = opener_of(options);
  const ExportContext subject = {program, options, reference, measurer, filters, open};

  Calls calls = calls_of(program, options);
  run_pipeline(program, {options, calls.examples, calls.constraints, open, &report.quantized});
  list_operators(program, options, &report);
  drop_long_texts(&program.texts, &report.warnings);
  complete(&calls, subject, &report);
  store_tests(calls, subject, &report);
  program.assets = options.assets;
  write(calls, subject, &report);
  return report;
}

}  // namespace rush
