// The command line, whose commands on PyTorch's models ask Python.
#include "cli/tool.h"

#include <cstdio>

#include "api/descriptions.h"
#include "api/functions.h"
#include "api/python.h"
#include "api/questions.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "export/examples.h"
#include "export/export.h"
#include "export/tracing.h"

namespace rush {

namespace {

std::string json_of(bool value) {
  return value ? "true" : "false";
}

// Asks Python to load the model, and calls `take` with its answer to `what`.
void ask_for_model(const char *what, const CommandLine &line, const std::string &path,
                   const std::vector<std::string> &methods,
                   const std::function<void(const Json &answer)> &take) {
  ask_python(what,
             "{\"path\": " + json_text(path) + ", \"libraries\": " + json_texts(line.libraries) +
                 ", \"methods\": " + json_texts(methods) + ", \"train\": " + json_of(line.train) +
                 ", \"source\": " + json_of(line.sources) + "}",
             take);
}

std::vector<std::string> methods_of(const CommandLine &line) {
  return line.methods.empty() ? std::vector<std::string>{"forward"} : line.methods;
}

// Adds the arguments that PyTorch refused to its message.
std::runtime_error refused(const Method &method, const std::vector<Const> &args,
                           const std::exception &error) {
  std::string given;
  for (size_t i = 0; i < args.size(); i++)
    given += " " + method.inputs.at(i).name + "=" + to_string(args[i]);
  return std::runtime_error("PyTorch runs the model with" + (given.empty() ? " nothing" : given) +
                            " and says: " + error.what());
}

Reference answers_of(const Program &program) {
  const Reference reference = reference_in_python(program);
  return [&program, reference](const std::string &method, const std::vector<Const> &args) {
    try {
      return reference(method, args);
    } catch (const PyTorchError &e) {
      throw refused(method_of(program, method), args, e);
    }
  };
}

Tracer traces_of(const Program &program) {
  const Tracer tracer = tracer_in_python(nullptr);
  return [&program, tracer](const std::string &method, const std::vector<Const> &args,
                            bool in_double) {
    try {
      return tracer(method, args, in_double);
    } catch (const PyTorchError &e) {
      throw refused(method_of(program, method), args, e);
    }
  };
}

int run_export_command(CommandLine &line) {
  Program program;
  ask_for_model("tool.program", line, line.files[0], methods_of(line),
                [&](const Json &answer) { program = program_from(answer); });
  if (line.trace) line.options.tracer = traces_of(program);
  line.options.graph = graph_in_python(program);
  line.options.graph_is_reference = true;
  line.options.dump = [](const std::string &text) { std::printf("%s\n", text.c_str()); };
  ask_python_for_operators(&line.options);
  const Report report = export_program(program, line.options, answers_of(program));
  std::printf("%s", (line.json() ? to_json(report) : to_string(report)).c_str());
  return 0;
}

// Returns the inputs that the options describe: the first example, if a size is unknown.
std::vector<Const> inputs_for(const Program &signature, const ExportOptions &options) {
  const std::vector<Example> examples = examples_of(signature, options);
  if (!examples.empty()) return examples[0].args;
  const Method &method = signature.methods[0];
  if (!method.inputs.empty())
    throw UsageError("diff --torch needs an --input for each input of " + method.name);
  return {};
}

Divergence diff_command(const CommandLine &line, NativeSession &session) {
  if (line.methods.size() > 1)
    throw UsageError("diff must have at most one --method, got " +
                     std::to_string(line.methods.size()));
  const std::string method = methods_of(line)[0];
  Program signature;
  ask_for_model("tool.inputs", line, line.torch, {method}, [&](const Json &answer) {
    signature.methods.push_back({method, nullptr, ports_from(answer), {}});
  });
  const std::vector<Const> args = inputs_for(signature, line.options);
  const Tracer tracer = traces_of(signature);
  const bool literal = line.rtol >= 0 || line.atol >= 0;
  return diff(session, session.method(method), args,
              literal ? tracer(method, args, false) : trace_both(tracer, method, args), line.rtol,
              line.atol);
}

// {"arguments", "has_torch"}. Returns the exit status.
std::string tool(const Json &request) {
  std::vector<std::string> arguments = request["arguments"].texts();
  std::vector<char *> argv;
  for (std::string &text : arguments) argv.push_back(text.data());
  argv.push_back(nullptr);
  TorchCommands commands;
  if (request["has_torch"].boolean()) commands = {run_export_command, diff_command};
  const Unlocked unlocked;
  const int code = run_tool(static_cast<int>(arguments.size()), argv.data(), commands);
  std::fflush(stdout);
  return std::to_string(code);
}

}  // namespace

Functions tool_functions() {
  return {{"tool", tool}};
}

}  // namespace rush
