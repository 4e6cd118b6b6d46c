// The commands of the tool that run PyTorch.
#include "cli/torch_commands.h"

#include <dlfcn.h>

#include <cstdio>
#include <exception>

#include "cli/command_line.h"
#include "export/examples.h"
#include "export/export.h"
#include "export/tracing.h"
#include "front/reference.h"
#include "front/schemas.h"
#include "front/torchscript.h"

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
    } catch (const PyTorchError &e) {
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

int run_export_command(CommandLine &line) {
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
  line.options.calls = calls_during;
  line.options.operator_programs = program_of_operator;
  line.options.dump = [](const std::string &text) { std::printf("%s\n", text.c_str()); };
  Report report = export_program(program, line.options, answers_of(module, front));
  std::printf("%s", (line.json() ? to_json(report) : to_string(report)).c_str());
  return 0;
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

Divergence diff_command(const CommandLine &line, NativeSession &session) {
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

// Calls f. An error of libtorch has a message without its backtrace.
template <class F>
auto without_backtrace(F f) -> decltype(f()) {
  try {
    use_schemas_of_torch();
    return f();
  } catch (const c10::Error &e) {
    throw std::runtime_error(e.what_without_backtrace());
  }
}

}  // namespace

TorchCommands torch_commands() {
  return {
      [](CommandLine &line) { return without_backtrace([&] { return run_export_command(line); }); },
      [](const CommandLine &line, NativeSession &session) {
        return without_backtrace([&] { return diff_command(line, session); });
      }};
}

}  // namespace rush
