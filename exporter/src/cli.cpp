#include "cli.h"

#include <getopt.h>

#include <cstdlib>

namespace rush {

const char kHelp[] = R"(usage: rushlight COMMAND ...

  export MODEL.pt -o MODEL.rush   bring a TorchScript model into a .rush file
    --input [NAME=]SPEC           an example input, once per input, in order or by name:
                                    1x3x224x224[:DTYPE[:LO..HI]]  random; Nx3 where a size may change
                                    @FILE.npy                     a given array
                                    5, 0.5, True, text            for an int, float, bool, str
    --output-names A,B            what the outputs are called
    --method NAME                 a method besides or instead of forward; may be repeated
    --load-library LIB.so         registers operators; may be repeated
    --train                       leave the training mode as it is
    --allow-missing               write the file although the runtime lacks operators
    --no-verify                   do not run the written file and compare it with PyTorch
    --no-test-vectors             store no test vectors
    --no-source                   store no source lines and none of PyTorch's texts
    --trace                       store what each operator gives in PyTorch, for diff
    --dump-after PASS             print each method after a pass

  inspect MODEL.rush              say what is in a file
    --json                        as JSON
    --graph, --code               PyTorch's own graph or code of the model and each submodule
    --weights OUT.safetensors     give the weights back

  verify MODEL.rush               replay the test vectors in a file

  diff MODEL.rush                 run it beside PyTorch, name the first value that differs
    --torch MODEL.pt              the model that it was exported from, with
    --input, --method,            what it shall run on, as for export
    --load-library, --train
    --rtol R, --atol A            how close values must be; by default what the dtype deserves
                                  without --torch: beside the trace in the file

A .pt file and a library run code on this machine: use files that you trust. A .rush file does not.
Files are run and timed in Node by the package's program: npx rushlight --help
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
  if (s.empty() || *end) throw UsageError("'" + s + "' in " + all + " is not a number");
  return v;
}

double tolerance(const std::string &s, const std::string &option) {
  const double v = number(s, option);
  if (!(v >= 0)) throw UsageError("'" + s + "' in " + option + " is negative");
  return v;
}

bool is_size(const std::string &s) {
  return !s.empty() && s.size() < 18 && s.find_first_not_of("0123456789") == std::string::npos;
}

void parse_range(const std::string &text, const std::string &all, InputSpec *spec) {
  size_t dots = text.find("..");
  if (dots == std::string::npos)
    throw UsageError("'" + text + "' in --input " + all + " is not a range like 0..100");
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
  // What does not look like sizes may still be the value of an int, float, bool or str.
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
    if (!at::isFloatingType(spec.dtype)) spec.lo = 0, spec.hi = 2;
  }
  if (parts.size() > 2) parse_range(parts[2], all, &spec);
  if (parts.size() > 3) throw UsageError("--input " + all + ": too many ':'");
  return spec;
}

CommandLine parse_command_line(int argc, char **argv) {
  enum {
    INPUT = 256,
    OUTPUT_NAMES,
    METHOD,
    LIBRARY,
    TRAIN,
    MISSING,
    NO_VERIFY,
    NO_VECTORS,
    NO_SOURCE,
    DUMP,
    JSON,
    GRAPH,
    CODE,
    WEIGHTS,
    TRACE,
    TORCH,
    RTOL,
    ATOL
  };
  static const option options[] = {{"output", required_argument, nullptr, 'o'},
                                   {"input", required_argument, nullptr, INPUT},
                                   {"output-names", required_argument, nullptr, OUTPUT_NAMES},
                                   {"method", required_argument, nullptr, METHOD},
                                   {"load-library", required_argument, nullptr, LIBRARY},
                                   {"train", no_argument, nullptr, TRAIN},
                                   {"allow-missing", no_argument, nullptr, MISSING},
                                   {"no-verify", no_argument, nullptr, NO_VERIFY},
                                   {"no-test-vectors", no_argument, nullptr, NO_VECTORS},
                                   {"no-source", no_argument, nullptr, NO_SOURCE},
                                   {"dump-after", required_argument, nullptr, DUMP},
                                   {"json", no_argument, nullptr, JSON},
                                   {"graph", no_argument, nullptr, GRAPH},
                                   {"code", no_argument, nullptr, CODE},
                                   {"weights", required_argument, nullptr, WEIGHTS},
                                   {"trace", no_argument, nullptr, TRACE},
                                   {"torch", required_argument, nullptr, TORCH},
                                   {"rtol", required_argument, nullptr, RTOL},
                                   {"atol", required_argument, nullptr, ATOL},
                                   {"help", no_argument, nullptr, 'h'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {nullptr, 0, nullptr, 0}};
  CommandLine out;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "o:h", options, nullptr)) != -1;) {
    switch (c) {
      case 'o':
        out.options.path = optarg;
        break;
      case INPUT:
        out.options.inputs.push_back(parse_input(optarg));
        break;
      case OUTPUT_NAMES:
        out.options.output_names = split(optarg, ',');
        break;
      case METHOD:
        out.methods.push_back(optarg);
        break;
      case LIBRARY:
        out.libraries.push_back(optarg);
        break;
      case TRAIN:
        out.train = true;
        break;
      case MISSING:
        out.options.allow_missing = true;
        break;
      case NO_VERIFY:
        out.options.verify = false;
        break;
      case NO_VECTORS:
        out.options.test_vectors = false;
        break;
      case NO_SOURCE:
        out.sources = false;
        break;
      case DUMP:
        out.options.dump_after = optarg;
        break;
      case JSON:
        out.form = RUSH_DESCRIBE_JSON;
        break;
      case GRAPH:
        out.form = RUSH_DESCRIBE_TORCH_GRAPH;
        break;
      case CODE:
        out.form = RUSH_DESCRIBE_TORCH_CODE;
        break;
      case WEIGHTS:
        out.weights = optarg;
        break;
      case TRACE:
        out.trace = true;
        break;
      case TORCH:
        out.torch = optarg;
        break;
      case RTOL:
        out.rtol = tolerance(optarg, "--rtol");
        break;
      case ATOL:
        out.atol = tolerance(optarg, "--atol");
        break;
      case 'h':
        out.command = "help";
        return out;
      case 'V':
        out.command = "version";
        return out;
      default:
        throw UsageError(std::string("the option ") + argv[optind - 1] +
                         " is unknown or lacks its value");
    }
  }
  if (optind >= argc) throw UsageError("no command is given");
  out.command = argv[optind++];
  for (; optind < argc; optind++) out.files.push_back(argv[optind]);
  if (out.command == "help") return out;
  if (out.command == "run" || out.command == "bench")
    throw UsageError(out.command + " is a command of the npm package's program: npx rushlight " +
                     out.command);
  if (out.command != "export" && out.command != "inspect" && out.command != "verify" &&
      out.command != "diff")
    throw UsageError("there is no command '" + out.command + "'");
  if (out.files.size() != 1) throw UsageError(out.command + " takes one file");
  if (out.command == "export" && out.options.path.empty())
    throw UsageError("export needs -o MODEL.rush");
  return out;
}

}  // namespace rush
