// The tool `rushlight`: see kHelp.
#include "cli/tool.h"

#include <dlfcn.h>

#include <cstdio>
#include <exception>

#include "base/counted.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "export/examples.h"
#include "export/export.h"
#include "export/reference.h"
#include "export/tracing.h"
#include "front/torchscript.h"
#include "inspect/weights.h"
#include "run/diff.h"
#include "run/native.h"

namespace rush {

namespace {

void load_library(const std::string &path) {
  // dlopen searches for a name without a slash in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  if (!dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) throw std::runtime_error(dlerror());
}

torch::jit::Module load(const std::string &path) {
  const torch::jit::Module module = load_torchscript(path);
  const torch::jit::Module hooked = with_hooks(module).value_or(module);
  return with_boundary_tuples(hooked).value_or(hooked);
}

// Adds the arguments that PyTorch refused to its message.
std::runtime_error refused(const torch::jit::Module &module, const std::string &method,
                           const std::vector<Const> &args, const std::exception &error) {
  const auto &arguments = module.get_method(method).function().getSchema().arguments();
  std::string given;
  for (size_t i = 0; i < args.size(); i++)
    given += " " + arguments.at(i + 1).name() + "=" + to_string(args[i]);
  return std::runtime_error("PyTorch runs the model with" + (given.empty() ? " nothing" : given) +
                            " and says: " + reason_of(error));
}

Reference answers_of(const torch::jit::Module &module, const TorchScriptOptions &front) {
  const Reference reference = reference_of(module, front);
  return [module, reference](const std::string &method, const std::vector<Const> &args) {
    try {
      return reference(method, args);
    } catch (const std::exception &e) {
      throw refused(module, method, args, e);
    }
  };
}

Tracer tracer_of(const torch::jit::Module &module, bool train) {
  return
      [module, train](const std::string &method, const std::vector<Const> &args, bool in_double) {
        try {
          return trace_module(module, method, args, train, in_double);
        } catch (const std::invalid_argument &) {  // it has no float64 form
          throw;
        } catch (const std::exception &e) {
          throw refused(module, method, args, e);
        }
      };
}

int run_export(CommandLine &line) {
  for (const std::string &library : line.libraries) load_library(library);
  prepare_torchscript();
  const torch::jit::Module module = load(line.files[0]);
  TorchScriptOptions front;
  if (!line.methods.empty()) front.methods = line.methods;
  front.train = line.train;
  front.texts = front.sources = line.sources;
  Program program = from_module(module, front);
  if (line.trace) line.options.tracer = tracer_of(module, front.train);
  line.options.graph = graph_of(module, front);
  line.options.graph_is_reference = true;
  line.options.dump = [](const std::string &text) { std::printf("%s\n", text.c_str()); };
  Report report = export_program(program, line.options, answers_of(module, front));
  std::printf("%s", (line.json() ? to_json(report) : to_string(report)).c_str());
  return 0;
}

int run_inspect(const CommandLine &line) {
  if (!line.weights.empty()) {
    write_safetensors(line.files[0], line.weights);
    return 0;
  }
  const std::string text = printable(describe_file(line.files[0], line.form));
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!text.empty() && text.back() != '\n') std::printf("\n");
  return 0;
}

// Prints the output of a file's program.
void print_escaped(void *, const char *text, size_t size) {
  std::printf("%s", printable({text, size}).c_str());
}

// The message of the runtime. It may quote names of the file, so that its other lines are indented.
std::string message_of(const RuntimeError &e) {
  std::string out;
  for (const char c : printable(e.what())) out += c == '\n' ? "\n  " : std::string(1, c);
  return out;
}

std::string text_of(size_t test, const rush_verify_report &r) {
  char line[400];
  int n = std::snprintf(line, sizeof line, "test vector %zu: ok, %s, max abs %.3g, max rel %.3g\n",
                        test, counted(r.compared, "value").c_str(), r.max_abs, r.max_rel);
  if (r.measured > 0)
    std::snprintf(line + n - 1, sizeof line - static_cast<size_t>(n),
                  "; from float64 PyTorch is off by %.3g (L2 %.3g), this by %.3g (L2 %.3g), "
                  "between them %.3g (L2 %.3g)\n",
                  r.pytorch.max, r.pytorch.l2, r.rushlight.max, r.rushlight.l2, r.difference.max,
                  r.difference.l2);
  return line;
}

std::string json_line(size_t test, const rush_verify_report &r, const std::string &failure) {
  char line[200];
  std::snprintf(line, sizeof line,
                "{\"index\": %zu, \"passed\": %s, \"compared\": %llu, \"measured\": %llu, ", test,
                failure.empty() ? "true" : "false", static_cast<unsigned long long>(r.compared),
                static_cast<unsigned long long>(r.measured));
  return line + (failure.empty() ? "" : "\"message\": " + json_text(failure) + ", ") +
         "\"max_abs\": " + json_number(r.max_abs) + ", \"max_rel\": " + json_number(r.max_rel) +
         ", \"pytorch\": " + json_of(r.pytorch) + ", \"rushlight\": " + json_of(r.rushlight) +
         ", \"difference\": " + json_of(r.difference) + "}";
}

std::unique_ptr<NativeSession> open(const CommandLine &line) {
  return NativeSession::open(line.files[0], {line.max_bytes, line.max_steps, nullptr});
}

int run_verify(const CommandLine &line) {
  std::unique_ptr<NativeSession> session = open(line);
  rush_ctx_set_print(session->ctx(), print_escaped, nullptr);
  const size_t n = session->test_count();
  if (n == 0 && !line.json()) {
    std::printf("%s: not verified: it holds no test vectors\n", line.files[0].c_str());
    return 0;
  }
  int failed = 0;
  std::string json;
  for (size_t i = 0; i < n; i++) {
    session->reset();
    rush_verify_report r = {};
    std::string failure;
    try {
      session->verify(i, &r);
    } catch (const RuntimeError &e) {
      failed++;
      failure = line.json() ? e.what() : message_of(e);
    }
    json += (json.empty() ? "" : ",\n ") + json_line(i, r, failure);
    if (!line.json())
      std::printf(
          "%s", failure.empty()
                    ? text_of(i, r).c_str()
                    : ("test vector " + std::to_string(i) + ": FAILED: " + failure + "\n").c_str());
  }
  if (line.json()) std::printf("[%s]\n", printable(json).c_str());
  return failed ? 1 : 0;
}

// The inputs that the options describe: the first example, if a size is unknown.
std::vector<Const> inputs_for(const torch::jit::Module &module, const std::string &method,
                              const ExportOptions &options) {
  Program signature;
  signature.methods.push_back({method, nullptr, inputs_of(module, method), {}});
  const std::vector<Example> examples = examples_of(signature, options);
  if (!examples.empty()) return examples[0].args;
  if (!signature.methods[0].inputs.empty())
    throw UsageError("diff --torch needs an --input for each input of " + method);
  return {};
}

Divergence diff_with(const CommandLine &line, NativeSession &session) {
  for (const std::string &library : line.libraries) load_library(library);
  prepare_torchscript();
  const torch::jit::Module module = load(line.torch);
  if (line.methods.size() > 1)
    throw UsageError("diff must have at most one --method, got " +
                     std::to_string(line.methods.size()));
  const std::string method = line.methods.empty() ? "forward" : line.methods[0];
  const std::vector<Const> args = inputs_for(module, method, line.options);
  const Tracer tracer = tracer_of(module, line.train);
  const bool literal = line.rtol >= 0 || line.atol >= 0;
  return diff(session, session.method(method), args,
              literal ? tracer(method, args, false) : trace_both(tracer, method, args), line.rtol,
              line.atol);
}

int run_diff(const CommandLine &line) {
  std::unique_ptr<NativeSession> session = open(line);
  const Divergence d = line.torch.empty() ? diff_test(*session, 0) : diff_with(line, *session);
  std::printf("%s", printable(to_string(d)).c_str());
  return d.agree ? 0 : 1;
}

// The message is printable, although it may quote names of files.
void complain(const std::string &message) {
  std::fprintf(stderr, "rushlight: %s\n", message.c_str());
}

int run(int argc, char **argv) {
  CommandLine line = parse_command_line(argc, argv);
  if (line.command == "export") return run_export(line);
  if (line.command == "inspect") return run_inspect(line);
  if (line.command == "verify") return run_verify(line);
  if (line.command == "diff") return run_diff(line);
  if (line.command == "version")
    std::printf("rushlight %s\n", rush_version());
  else
    std::printf("%s", kHelp);
  return 0;
}

}  // namespace

int run_tool(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const UsageError &e) {
    complain(printable(e.what()) + " (rushlight --help shows the options)");
    return 2;
  } catch (const RuntimeError &e) {
    complain(message_of(e));
  } catch (const c10::Error &e) {
    complain(printable(e.what_without_backtrace()));
  } catch (const std::exception &e) {
    complain(printable(e.what()));
  }
  return 1;
}

}  // namespace rush
