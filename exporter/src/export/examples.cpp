#include "export/examples.h"

#include <algorithm>
#include <stdexcept>

#include "base/joined.h"
#include "export/constraints.h"
#include "export/ports.h"
#include "export/synthetic_inputs.h"
#include "ir/unsupported.h"
#include "run/compare.h"

namespace rush {

namespace {

// The largest answer of a synthetic test vector, in bytes.
constexpr size_t kLargestOutput = size_t{1} << 20;

constexpr uint64_t kSeed = 1;

// Parses the value of an input that is not a tensor, as it stands on the command line.
Const typed(const std::string &text, const Port &port) {
  const Type *type = port.type.get();
  if (type->kind == RUSH_TYPE_OPTIONAL) {
    if (text == "None") return const_none();
    type = type->items[0].get();
  }
  char *end = nullptr;
  Const c;
  switch (type->kind) {
    case RUSH_TYPE_INT:
      c = const_int(std::strtoll(text.c_str(), &end, 10));
      break;
    case RUSH_TYPE_FLOAT:
      c = const_float(std::strtod(text.c_str(), &end));
      break;
    case RUSH_TYPE_STR:
      return const_str(text);
    case RUSH_TYPE_BOOL:
      if (text == "True" || text == "true" || text == "1") return const_bool(true);
      if (text == "False" || text == "false" || text == "0") return const_bool(false);
      break;
    default:
      break;
  }
  if (!end || *end || text.empty())
    throw std::invalid_argument("input '" + port.name + "' must be of type " +
                                to_string(*port.type) + ", got '" + text + "'");
  return c;
}

bool takes_tensor(const Port &port) {
  const Type &t = *port.type;
  return t.kind == RUSH_TYPE_TENSOR || t.kind == RUSH_TYPE_ANY ||
         (t.kind == RUSH_TYPE_OPTIONAL && t.items[0]->kind == RUSH_TYPE_TENSOR);
}

Const synthetic_argument(const InputSpec &spec, const Port &port, int64_t unknown, uint64_t seed) {
  if (spec.value) return *spec.value;
  if (!takes_tensor(port) || !spec.is_tensor) return typed(spec.text, port);
  std::vector<int64_t> sizes = spec.sizes;
  for (int64_t &n : sizes)
    if (n < 0) n = unknown;
  return random_constant(spec.dtype, sizes, seed, spec.lo, spec.hi);
}

// The specs in the order of the method's inputs.
std::vector<const InputSpec *> in_order(const Method &m, const std::vector<InputSpec> &specs) {
  std::vector<const InputSpec *> out(m.inputs.size(), nullptr);
  size_t next = 0;
  for (const InputSpec &spec : specs) {
    size_t at = next;
    if (!spec.name.empty()) {
      for (at = 0; at < m.inputs.size() && m.inputs[at].name != spec.name;) at++;
    }
    if (at >= m.inputs.size()) {
      const std::string known = joined(m.inputs, [](const Port &p) { return p.name; });
      throw std::invalid_argument("there is no input '" +
                                  (spec.name.empty() ? std::to_string(at + 1) : spec.name) +
                                  "'; the model's inputs are " + (known.empty() ? "none" : known));
    }
    if (out[at]) throw std::invalid_argument("input '" + m.inputs[at].name + "' is given twice");
    out[at] = &spec;
    next = at + 1;
  }
  return out;
}

// Keeps the dtype and sizes on which all examples agree.
void hint_from(Port *port, const Const &value) {
  if (!value.tensor.defined()) return;
  const int dtype = static_cast<int>(value.tensor.dtype());
  const std::vector<int64_t> sizes = value.tensor.sizes();
  if (!port->has_hint) {
    port->has_hint = port->rank_known = true;
    port->dtype = dtype;
    port->sizes = sizes;
    return;
  }
  if (port->dtype != dtype) port->dtype = RUSH_DTYPE_UNKNOWN;
  if (port->sizes.size() != sizes.size()) port->rank_known = false;
  for (size_t d = 0; port->rank_known && d < sizes.size(); d++)
    if (port->sizes[d] != sizes[d]) port->sizes[d] = -1;
}

size_t bytes_of(const Const &value) {
  size_t n = 0;
  each_tensor(value, [&](const Const &c) { n += c.tensor.nbytes(); });
  return n;
}

void set_tolerance(Example *example, bool floats_from_float32) {
  double rtol, atol;
  default_tolerance(*example->expected, floats_from_float32, &rtol, &atol);
  example->literal = example->rtol >= 0 || example->atol >= 0;
  if (example->rtol < 0) example->rtol = rtol;
  if (example->atol < 0) example->atol = atol;
}

void add_test(Program &program, const Example &example, std::vector<Measure> measures) {
  Test test;
  test.method = index_of(program, example.method);
  const Method &m = program.methods[test.method];
  test.inputs = example.args;
  for (size_t i = test.inputs.size(); i < m.inputs.size(); i++) {
    if (!m.inputs[i].initial)
      throw std::invalid_argument("an example lacks the input '" + m.inputs[i].name + "'");
    test.inputs.push_back(*m.inputs[i].initial);
  }
  test.output = *example.expected;
  test.rtol = static_cast<float>(example.rtol);
  test.atol = static_cast<float>(example.atol);
  test.measures = std::move(measures);
  test.from_user = example.given && example.literal;
  program.tests.push_back(std::move(test));
}

std::string bracketed(const Tensor &t) {
  std::string out = " [";
  for (int64_t d = 0; d < t.dim(); d++) out += (d ? ", " : "") + std::to_string(t.size(d));
  return out + "]";
}

// Neighbouring tensors of one argument that have the same sizes.
struct SameSizes {
  size_t first, last;
  std::string sizes;
};

// "x [3, 4], y [3]" for new sizes; "xs.0 [3, 4]" for a tensor inside of "xs", "xs.0-3 [3, 4]" for several.
std::string sizes_text(const Method &m, const Example &e, const std::vector<NewSizes> &new_sizes) {
  std::string out;
  for (size_t k = 0; k < e.args.size(); k++) {
    std::vector<SameSizes> all;
    size_t leaf = 0;
    each_tensor_inside(e.args[k], [&](const Tensor &t) {
      const size_t at = leaf++;
      if (std::none_of(new_sizes[k].begin(), new_sizes[k].end(),
                       [&](const NewSize &g) { return g.leaf == at; }))
        return;
      const std::string sizes = bracketed(t);
      if (all.empty() || all.back().sizes != sizes || all.back().last + 1 != at)
        all.push_back({at, at, sizes});
      all.back().last = at;
    });
    for (const SameSizes &a : all)
      out += (out.empty() ? "" : ", ") + m.inputs[k].name +
             (e.args[k].tensor.defined() ? "" : "." + std::to_string(a.first)) +
             (a.first == a.last ? "" : "-" + std::to_string(a.last)) + a.sizes;
  }
  return out;
}

}  // namespace

const Method &method_of(const Program &program, const std::string &name) {
  return program.methods[index_of(program, name)];
}

// Gives an example synthetic arguments of other sizes, and PyTorch's answer to them. PyTorch may refuse
// some, such as times that must rise. A second try keeps the arguments whose sizes stay.
static void grow(Example *e, const std::vector<NewSizes> &to, const Reference &reference,
                 uint64_t *seed) {
  const std::vector<Const> given = e->args;
  e->args = arguments_like(*e, seed, to);
  try {
    e->expected = snapshot({reference(e->method, e->args)})[0];
    return;
  } catch (const std::exception &) {
    if (std::none_of(to.begin(), to.end(), [](const NewSizes &g) { return g.empty(); })) throw;
  }
  for (size_t k = 0; k < given.size(); k++)
    if (to[k].empty()) e->args[k] = given[k];
  e->expected = snapshot({reference(e->method, e->args)})[0];
}

void add_other_sizes(const Program &program, const std::vector<Constraint> &constraints,
                     const Reference &reference, std::vector<Example> *examples,
                     std::vector<std::string> *warnings) {
  uint64_t seed = kSeed + 200;
  const size_t n = examples->size();
  for (size_t i = 0; i < n; i++) {
    const Example e = (*examples)[i];
    if (e.store || e.only_compared) continue;
    const size_t method = index_of(program, e.method);
    const Method &m = program.methods[method];
    bool warned = false;
    for (const Trial &trial : trial_inputs(constraints, method, e.args)) {
      Example other = e;
      try {
        grow(&other, trial.sizes, reference, &seed);
        other.new_sizes = sizes_text(m, other, trial.sizes);
        examples->push_back(std::move(other));
      } catch (const std::exception &error) {
        const std::string what = error.what();
        other.new_sizes = sizes_text(m, other, trial.sizes);
        // Many programs have a smallest size, below which both PyTorch and the file refuse.
        if (!warned && !trial.smaller)
          warnings->push_back("PyTorch itself refuses sizes other than the example's (" +
                              other.new_sizes + "): " + what.substr(0, what.find('\n')));
        warned |= !trial.smaller;
      }
    }
  }
}

void add_other_integers(const Reference &reference, std::vector<Example> *examples) {
  uint64_t seed = kSeed + 300;
  const size_t n = examples->size();
  for (size_t i = 0; i < n; i++) {
    const Example e = (*examples)[i];
    if (e.store || e.only_compared || !e.new_sizes.empty()) continue;
    for (const bool above : {true, false}) {
      Example other = e;
      other.args = with_other_integers(e.args, above, &seed);
      other.synthetic = other.only_compared = true;
      if (other.args.empty()) break;
      try {
        other.expected = snapshot({reference(e.method, other.args)})[0];
      } catch (const std::exception &) {
        continue;  // an index that is out of range
      }
      examples->push_back(std::move(other));
      break;
    }
  }
}

static Example example_from(const Method &m, const std::vector<const InputSpec *> &specs,
                            int64_t size, uint64_t seed) {
  Example e;
  e.method = m.name;
  for (size_t i = 0; i < specs.size(); i++) {
    if (!specs[i] && !m.inputs[i].initial)
      throw std::invalid_argument("input '" + m.inputs[i].name + "' is missing: give --input " +
                                  m.inputs[i].name + "=...");
    e.args.push_back(specs[i] ? synthetic_argument(*specs[i], m.inputs[i], size, seed + i)
                              : *m.inputs[i].initial);
  }
  return e;
}

// Examples that are only compared, in groups of as many inputs as the first example has.
static void add_test_inputs(const Method &m, const ExportOptions &options,
                            std::vector<Example> *examples) {
  const size_t n = options.inputs.size(), count = options.test_inputs.size();
  if (count % n != 0)
    throw std::invalid_argument("--test-input must be given " + std::to_string(n) +
                                " times for each example, as --input is, got " +
                                std::to_string(count));
  for (size_t at = 0; at < count; at += n) {
    const auto first = options.test_inputs.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<InputSpec> group(first, first + static_cast<std::ptrdiff_t>(n));
    Example e = example_from(m, in_order(m, group), 2, kSeed + m.inputs.size() + at);
    e.only_compared = true;
    examples->push_back(std::move(e));
  }
}

std::vector<Example> examples_of(const Program &program, const ExportOptions &options) {
  std::vector<Example> out = options.examples;
  for (const Example &e : out)
    if (e.args.size() > method_of(program, e.method).inputs.size())
      throw std::invalid_argument("an example for '" + e.method + "' must have at most " +
                                  std::to_string(method_of(program, e.method).inputs.size()) +
                                  " inputs, got " + std::to_string(e.args.size()));
  if (options.inputs.empty()) return out;
  const Method &m = program.methods[0];
  const std::vector<const InputSpec *> specs = in_order(m, options.inputs);
  bool unknown = false;
  for (const InputSpec *spec : specs)
    for (int64_t n : spec && spec->is_tensor ? spec->sizes : std::vector<int64_t>())
      unknown |= n < 0;
  for (int64_t size = 2; size <= (unknown ? 3 : 2); size++)  // two examples if a size is unknown
    out.push_back(example_from(m, specs, size, kSeed));
  add_test_inputs(m, options, &out);
  return out;
}

void set_hints(Program &program, const std::vector<Example> &examples) {
  for (const Example &e : examples) {
    if (e.store || e.synthetic) continue;  // a test may have any shape
    for (Method &m : program.methods) {
      if (m.name != e.method) continue;
      for (size_t i = 0; i < e.args.size(); i++) hint_from(&m.inputs[i], e.args[i]);
      if (!e.expected) continue;
      const bool tuple = e.expected->kind == RUSH_CONST_TUPLE;
      for (size_t i = 0; i < m.outputs.size(); i++)
        hint_from(&m.outputs[i], tuple ? e.expected->items.at(i) : *e.expected);
    }
  }
}

// Only values inside of a program may be quantized tensors.
static void refuse_quantized(const Const &value, const std::string &what) {
  each_tensor(value, [&](const Const &c) {
    if (c.tensor.is_quantized())
      throw Unsupported(what +
                        " must not be a quantized tensor: call quantize_per_tensor() and "
                        "dequantize() in the model");
  });
}

void run_reference(std::vector<Example> *examples, const Reference &reference) {
  for (Example &e : *examples)
    if (!e.expected) e.expected = snapshot({reference(e.method, e.args)})[0];
}

void set_tolerances(std::vector<Example> *examples, bool floats_from_float32) {
  for (Example &e : *examples) {
    for (const Const &arg : e.args) refuse_quantized(arg, "an input");
    refuse_quantized(*e.expected, "an output");
    set_tolerance(&e, floats_from_float32);
  }
}

namespace {

bool has_tensors(const Const &value) {
  bool found = false;
  each_tensor(value, [&](const Const &) { found = true; });
  return found;
}

// Like an example, with synthetic tensors and PyTorch's answer to them. Throws what PyTorch throws.
Example synthetic_of(const Example &e, const Reference &reference, uint64_t *seed) {
  Example out = e;
  if (std::none_of(e.args.begin(), e.args.end(), has_tensors)) return out;
  out.args = arguments_like(e, seed);
  out.expected = snapshot({reference(e.method, out.args)})[0];
  return out;
}

// Adds a synthetic test vector, and a warning if there is none or if it shows nothing.
void add_synthetic(Program &program, const Example &e, const Reference &reference,
                   const Measurer &measurer, uint64_t *seed, std::vector<std::string> *warnings) {
  const auto refuse = [&](const std::string &reason) {
    warnings->push_back("no test vector is stored: " + reason);
  };
  Example synthetic;
  try {
    synthetic = synthetic_of(e, reference, seed);
    const Const second = reference(e.method, synthetic.args);
    if (!compare(second, *synthetic.expected, 0, 0, "").ok)
      return refuse("the model answers differently each time");
  } catch (const std::exception &error) {
    const std::string what = error.what();
    return refuse("PyTorch refused synthetic inputs: " + what.substr(0, what.find('\n')));
  }
  if (bytes_of(*synthetic.expected) > kLargestOutput)
    return refuse("the output is larger than 1 MiB");
  Measured measured;
  if (!e.literal) measured = measurer(synthetic);
  if (measured.unstable)
    return refuse("rounding decides the answer to synthetic inputs, and float64's answer differs");
  add_test(program, synthetic, std::move(measured.list));
  if (is_empty(*synthetic.expected))
    warnings->push_back(
        "verify() compares no numbers with the stored test vector: PyTorch's answer to its "
        "synthetic inputs is empty. Store another one with tests=[(args, expected)]");
}

}  // namespace

bool is_empty(const Const &answer) {
  bool tensors = false, elements = false;
  each_tensor(answer, [&](const Const &c) {
    tensors = true;
    elements |= c.tensor.numel() > 0;
  });
  return tensors && !elements;
}

void add_tests(Program &program, const std::vector<Example> &examples, const ExportOptions &options,
               const Reference &reference, const Measurer &measurer,
               std::vector<std::string> *warnings) {
  uint64_t seed = kSeed + 100;
  for (const Example &e : examples) {
    if (!e.expected) continue;
    if (e.store) {
      add_test(program, e, e.literal ? std::vector<Measure>() : measurer(e).list);
      continue;
    }
    if (!options.test_vectors || e.only_compared || !e.new_sizes.empty()) continue;
    add_synthetic(program, e, reference, measurer, &seed, warnings);
  }
}

}  // namespace rush
