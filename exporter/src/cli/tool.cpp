// The tool `rushlight`: see kHelp.
#include "cli/tool.h"

#include <cstdio>
#include <exception>

#include "base/counted.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "inspect/weights.h"
#include "run/diff.h"
#include "run/native.h"

namespace rush {

namespace {

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

// Returns the message of the runtime. It may quote names of the file, so that its other lines are
// indented.
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

int run_diff(const CommandLine &line, const TorchCommands &commands) {
  std::unique_ptr<NativeSession> session = open(line);
  const Divergence d =
      line.torch.empty() ? diff_test(*session, 0) : commands.diff_with(line, *session);
  std::printf("%s", printable(to_string(d)).c_str());
  return d.agree ? 0 : 1;
}

// The message is printable, although it may quote names of files.
void complain(const std::string &message) {
  std::fprintf(stderr, "rushlight: %s\n", message.c_str());
}

int run(int argc, char **argv, const TorchCommands &commands) {
  CommandLine line = parse_command_line(argc, argv);
  if (!commands.run_export && (line.command == "export" || !line.torch.empty()))
    throw std::runtime_error(
        "this command needs PyTorch, which is not installed here: pip install torch");
  if (line.command == "export") return commands.run_export(line);
  if (line.command == "inspect") return run_inspect(line);
  if (line.command == "verify") return run_verify(line);
  if (line.command == "diff") return run_diff(line, commands);
  if (line.command == "version")
    std::printf("rushlight %s\n", rush_version());
  else
    std::printf("%s", kHelp);
  return 0;
}

}  // namespace

int run_tool(int argc, char **argv, const TorchCommands &commands) {
  try {
    return run(argc, argv, commands);
  } catch (const UsageError &e) {
    complain(printable(e.what()) + " (rushlight --help shows the options)");
    return 2;
  } catch (const RuntimeError &e) {
    complain(message_of(e));
  } catch (const std::exception &e) {
    complain(printable(e.what()));
  }
  return 1;
}

}  // namespace rush
