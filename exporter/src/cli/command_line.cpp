#include "cli/command_line.h"

#include <getopt.h>

#include <cstdlib>

#include "base/files.h"

namespace rush {

const char kHelp[] = R"(usage: rushlight COMMAND ...

  export MODEL.pt -o MODEL.rush   export a TorchScript model to a .rush file
    --input [NAME=]SPEC           give an example input; repeat it for each input, in order or by name:
                                    1x3x224x224[:DTYPE[:LO..HI]]  random numbers; Nx3: N is an open size
                                    @FILE.npy                     an array
                                    5, 0.5, True, text            an int, float, bool, str
    --test-input [NAME=]SPEC      verify with a further example, such as @photo.npy; repeat it for each
                                    --input, and again for the next example
    --output-names A,B            name the outputs
    --method NAME                 export a method besides or instead of forward; may be repeated
    --load-library LIB.so         load a library of operators; may be repeated
    --train                       keep the training mode of the model
    --asset [NAME=]FILE           store a file for the application; may be repeated
    --allow-missing               write the file even if the runtime lacks operators
    --quantize BITS               int8: 8 bits for weights and activations of linear layers;
                                    int8-static: also convolutions, calibrated with the inputs;
                                    int4[:64|:128][:zero-points|:minima]: 4 bits for linear layers;
                                    int8-weights, int4-weights[:64|:128][:zero-points|:minima]: only weights;
                                    float16: halves in the file;
                                    PATTERN=BITS,...: by module path, such as lm_head=int8,*=int4
    --no-verify                   do not run the file and compare it with PyTorch
    --no-test-vectors             store no test vectors
    --no-source                   store no source lines and none of PyTorch's texts
    --trace                       store PyTorch's result of each operator, for diff
    --dump-after NAME             print each method after a pass or a stage of passes
    --json                        print the report as JSON

  inspect MODEL.rush              print the contents of a file
    --json                        print them as JSON
    --graph, --code               print PyTorch's own graph or code of the model and each submodule
    --weights OUT.safetensors     write the weights to a file; for a table of the layers, use
                                  inspect --layers of the npm package

  verify MODEL.rush               replay the test vectors in a file
    --json                        print the results as JSON
    --max-bytes N                 limit the memory of the model and its runs
    --max-steps N                 limit the instructions of a run, which also ends endless loops

  diff MODEL.rush                 compare a run with PyTorch, and name the first value that differs
    --torch MODEL.pt              compare with the exported model (default: the trace in the file)
    --input, --method,            choose the run, as for export
    --load-library, --train
    --rtol R, --atol A            set the tolerances (default: those of the dtype)
    --max-bytes, --max-steps      as for verify

  run MODEL.rush                  run the model, and print its outputs: rushlight run --help
  bench MODEL.rush                time runs of the model: rushlight bench --help

A .pt file and a library run code on this machine: use only files that you trust. A .rush file does not.
The npm package has a tool that runs, shows and times files in Node.
)";

namespace {

std::vector<std::string> split(const std::string &s, char at) {
  std::vector<std::string> out;
  size_t from = 0;
  for (size_t end; (end = s.find(at, from)) != std::string::npos; from = end + 1)
    out.push_back(s.substr(from, end - from));
  out.push_back(s.substr(from));
  return out;
}

double number(const std::string &s, const std::string &all) {
  char *end;
  double v = std::strtod(s.c_str(), &end);
  if (s.empty() || *end) throw UsageError(all + " must have a number, got '" + s + "'");
  return v;
}

double tolerance(const std::string &s, const std::string &option) {
  const double v = number(s, option);
  if (!(v >= 0)) throw UsageError(option + " must not be negative, got '" + s + "'");
  return v;
}

bool is_size(const std::string &s) {
  return !s.empty() && s.size() < 18 && s.find_first_not_of("0123456789") == std::string::npos;
}

uint64_t limit(const std::string &s, const std::string &option) {
  if (!is_size(s) || std::stoull(s) == 0)
    throw UsageError(option + " must be a whole number of at least 1, got '" + s + "'");
  return std::stoull(s);
}

void parse_range(const std::string &text, const std::string &all, InputSpec *spec) {
  size_t dots = text.find("..");
  if (dots == std::string::npos)
    throw UsageError("--input " + all + " must have a range such as 0..100, got '" + text + "'");
  spec->lo = number(text.substr(0, dots), "--input " + all);
  spec->hi = number(text.substr(dots + 2), "--input " + all);
}

}  // namespace

InputSpec parse_input(const std::string &all) {
  InputSpec spec;
  size_t equals = all.find('=');
  if (equals != std::string::npos) spec.name = all.substr(0, equals);
  spec.text = equals == std::string::npos ? all : all.substr(equals + 1);
  if (!spec.text.empty() && spec.text[0] == '@') {
    spec.value = const_tensor(read_npy(spec.text.substr(1)));
    return spec;
  }
  std::vector<std::string> parts = split(spec.text, ':');
  // A text that is not a list of sizes may be the value of an int, float, bool or str.
  if (parts[0].empty()) {
    spec.is_tensor = true;
  } else {
    spec.is_tensor = true;
    for (const std::string &size : split(parts[0], 'x')) {
      const bool word = !size.empty() && size.find_first_of("0123456789.+-") == std::string::npos;
      spec.is_tensor &= is_size(size) ||
                        (word && parts[0].find_first_of("x0123456789") != std::string::npos) ||
                        (word && size.size() == 1);
      spec.sizes.push_back(is_size(size) ? std::stoll(size) : -1);
    }
  }
  if (!spec.is_tensor) return spec;
  if (parts.size() > 1) {
    try {
      spec.dtype = dtype_from_name(parts[1]);
    } catch (const std::invalid_argument &e) {
      throw UsageError(std::string(e.what()) + " (--input " + all + ")");
    }
    if (!is_floating_point(spec.dtype)) spec.lo = 0, spec.hi = 2;
  }
  if (parts.size() > 2) parse_range(parts[2], all, &spec);
  if (parts.size() > 3)
    throw UsageError("--input must be SIZES:DTYPE:RANGE at most, got '" + all + "'");
  return spec;
}

namespace {

// Reads "NAME=FILE", or "FILE", whose name is then that of the asset.
Asset read_asset(const std::string &text) {
  const size_t equals = text.find('=');
  const std::string path = equals == std::string::npos ? text : text.substr(equals + 1);
  return {equals == std::string::npos ? path.substr(path.rfind('/') + 1) : text.substr(0, equals),
          read_file(path)};
}

// An option: its name, whether a value follows, and its effect.
struct Option {
  const char *name;
  char letter;  // 0 if there is none
  bool takes_value;
  void (*set)(CommandLine &line, const std::string &value);
};

const Option kOptions[] = {
    {"output", 'o', true, [](CommandLine &l, const std::string &v) { l.options.path = v; }},
    {"input", 0, true,
     [](CommandLine &l, const std::string &v) { l.options.inputs.push_back(parse_input(v)); }},
    {"test-input", 0, true,
     [](CommandLine &l, const std::string &v) { l.options.test_inputs.push_back(parse_input(v)); }},
    {"output-names", 0, true,
     [](CommandLine &l, const std::string &v) {
       l.options.port_names = {{"", {}, split(v, ',')}};
     }},
    {"method", 0, true, [](CommandLine &l, const std::string &v) { l.methods.push_back(v); }},
    {"load-library", 0, true,
     [](CommandLine &l, const std::string &v) { l.libraries.push_back(v); }},
    {"train", 0, false, [](CommandLine &l, const std::string &) { l.train = true; }},
    {"allow-missing", 0, false,
     [](CommandLine &l, const std::string &) { l.options.allow_missing = true; }},
    {"asset", 0, true,
     [](CommandLine &l, const std::string &v) { l.options.assets.push_back(read_asset(v)); }},
    {"quantize", 0, true,
     [](CommandLine &l, const std::string &v) {
       try {
         l.options.bits = bits_from_name(v);
       } catch (const std::invalid_argument &e) {
         throw UsageError(e.what());
       }
     }},
    {"no-verify", 0, false, [](CommandLine &l, const std::string &) { l.options.verify = false; }},
    {"no-test-vectors", 0, false,
     [](CommandLine &l, const std::string &) { l.options.test_vectors = false; }},
    {"no-source", 0, false, [](CommandLine &l, const std::string &) { l.sources = false; }},
    {"trace", 0, false, [](CommandLine &l, const std::string &) { l.trace = true; }},
    {"dump-after", 0, true, [](CommandLine &l, const std::string &v) { l.options.dump_after = v; }},
    {"json", 0, false, [](CommandLine &l, const std::string &) { l.form = RUSH_DESCRIBE_JSON; }},
    {"graph", 0, false,
     [](CommandLine &l, const std::string &) { l.form = RUSH_DESCRIBE_TORCH_GRAPH; }},
    {"code", 0, false,
     [](CommandLine &l, const std::string &) { l.form = RUSH_DESCRIBE_TORCH_CODE; }},
    {"weights", 0, true, [](CommandLine &l, const std::string &v) { l.weights = v; }},
    {"torch", 0, true, [](CommandLine &l, const std::string &v) { l.torch = v; }},
    {"rtol", 0, true,
     [](CommandLine &l, const std::string &v) { l.rtol = tolerance(v, "--rtol"); }},
    {"atol", 0, true,
     [](CommandLine &l, const std::string &v) { l.atol = tolerance(v, "--atol"); }},
    {"max-bytes", 0, true,
     [](CommandLine &l, const std::string &v) { l.max_bytes = limit(v, "--max-bytes"); }},
    {"max-steps", 0, true,
     [](CommandLine &l, const std::string &v) { l.max_steps = limit(v, "--max-steps"); }},
    {"help", 'h', false, [](CommandLine &l, const std::string &) { l.command = "help"; }},
    {"version", 0, false, [](CommandLine &l, const std::string &) { l.command = "version"; }},
};
constexpr int kFirst = 256;  // getopt's code of the first row, larger than all letters

// The rows in getopt's form.
std::vector<option> long_options() {
  std::vector<option> out;
  for (const Option &o : kOptions)
    out.push_back({o.name, o.takes_value ? required_argument : no_argument, nullptr,
                   kFirst + static_cast<int>(out.size())});
  out.push_back({nullptr, 0, nullptr, 0});
  return out;
}

std::string short_options() {
  std::string out;
  for (const Option &o : kOptions)
    if (o.letter) out += std::string(1, o.letter) + (o.takes_value ? ":" : "");
  return out;
}

// Returns the row of a code that getopt returns; nullptr for an unknown option.
const Option *option_of(int code) {
  if (code >= kFirst) return &kOptions[code - kFirst];
  for (const Option &o : kOptions)
    if (o.letter && o.letter == code) return &o;
  return nullptr;
}

void check_command(const CommandLine &line) {
  const std::string &command = line.command;
  if (command != "export" && command != "inspect" && command != "verify" && command != "diff")
    throw UsageError("there is no command '" + command + "'");
  if (line.files.size() != 1)
    throw UsageError(command + " must be given one file, got " + std::to_string(line.files.size()));
  if (command == "export" && line.options.path.empty())
    throw UsageError("export needs -o MODEL.rush");
  if (!line.options.test_inputs.empty() && (command != "export" || line.options.inputs.empty()))
    throw UsageError("--test-input is an option of export, and needs --input");
}

}  // namespace

CommandLine parse_command_line(int argc, char **argv) {
  CommandLine out;
  const std::vector<option> options = long_options();
  const std::string letters = short_options();
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, letters.c_str(), options.data(), nullptr)) != -1;) {
    const Option *row = option_of(c);
    if (!row && std::string(argv[optind - 1]) == "--layers")
      throw UsageError("--layers is an option of inspect in the npm package's tool");
    if (!row)
      throw UsageError(std::string("the option ") + argv[optind - 1] +
                       " is unknown or lacks its value");
    row->set(out, row->takes_value ? optarg : "");
    if (!out.command.empty()) return out;  // help, version
  }
  if (optind >= argc) throw UsageError("a command must be given, such as export");
  out.command = argv[optind++];
  for (; optind < argc; optind++) out.files.push_back(argv[optind]);
  if (out.command != "help") check_command(out);
  return out;
}

}  // namespace rush
