// torch.classes.rushlight.Interpreter: a .rush file that runs inside PyTorch, in Python,
// TorchScript and C++.
//
//   Interpreter(source)            a uint8 tensor with a file's bytes, or a path
//   forward(Tensor[]) -> Tensor[]  the method `forward`: one tensor per input; tuples of results
//                                  are flattened
//   call(method, Any[]) -> Any     any method and any values
//   reset()                        the attributes that the program writes, as in the file
//   methods(), describe()          names; what the file is, as JSON
//
// Pickled it is one uint8 tensor: the file's bytes, then (where the program has attributes) their
// values as torch::jit::pickle_save writes them. Unpickling goes through the file's validator.
//
// Threads: each run has its own session from a pool, so that runs do not wait for each other;
// a model that writes attributes has one session, and runs wait. Python's lock is released by
// torch.
//
// As in PyTorch, a write to an argument in place also changes the caller's tensor, and a result that
// is a view of an argument is a view of the caller's tensor. Values that stay in attributes are
// copies.
//
// Ctrl-C in a Python process ends loading and runs (signals.h).
//
// Random numbers come from torch's default generator, so that they are those of the module itself
// and torch.manual_seed seeds them; programs that draw some wait for each other.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/custom_class.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "rushlight/generator.h"
#include "signals.h"
#include "torch_values.h"

namespace rush {

namespace {

// Our exceptions become c10::Error, with the same message.
template <class F>
auto translated(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const RuntimeError &e) {
    TORCH_CHECK(false, "rushlight: ", e.what());
  } catch (const std::invalid_argument &e) {
    TORCH_CHECK(false, "rushlight: ", e.what());
  }
}

struct Context {
  Context() {
    if (rush_ctx_create(nullptr, nullptr, &ctx) != RUSH_OK) throw std::bad_alloc();
    rush_ctx_set_print(ctx, print_as_torch, nullptr);
    rush_ctx_set_poll(ctx, interrupted_in_python, nullptr);
  }
  ~Context() { rush_ctx_destroy(ctx); }
  Context(const Context &) = delete;
  void check(rush_status status) const {
    if (status != RUSH_OK) throw RuntimeError(status, ctx);
  }
  rush_ctx *ctx = nullptr;
};

struct Model {
  explicit Model(const at::Tensor &bytes) {
    context.check(rush_model_load(context.ctx, bytes.const_data_ptr(),
                                  static_cast<size_t>(bytes.numel()), &model));
  }
  ~Model() { rush_model_destroy(context.ctx, model); }
  Context context;
  rush_model *model = nullptr;
};

struct Session {
  explicit Session(const rush_model *model) {
    context.check(rush_session_create(context.ctx, model, &session));
  }
  ~Session() { rush_session_destroy(session); }
  Context context;
  rush_session *session = nullptr;
};

at::Tensor read_file(const std::string &path) {
  std::error_code ignored;
  TORCH_CHECK(!std::filesystem::is_directory(path, ignored), "rushlight: ", path,
              " is a folder, not a file");
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  TORCH_CHECK(file, "rushlight: ", path, " cannot be read: ", std::strerror(errno));
  at::Tensor bytes = at::empty({static_cast<int64_t>(file.tellg())}, at::kByte);
  file.seekg(0);
  TORCH_CHECK(file.read(static_cast<char *>(bytes.mutable_data_ptr()), bytes.numel()),
              "rushlight: ", path, " cannot be read");
  return bytes;
}

// libtorch's message would quote the damaged bytes, which Python cannot show.
c10::IValue unpickled(const at::Tensor &bytes) {
  const char *data = static_cast<const char *>(bytes.const_data_ptr());
  try {
    return torch::jit::pickle_load({data, data + bytes.numel()});
  } catch (const std::exception &) {
    throw std::invalid_argument("the attributes behind the file's bytes are damaged");
  }
}

at::Tensor bytes_of(const c10::IValue &source) {
  if (source.isString()) return read_file(source.toStringRef());
  TORCH_CHECK(
      source.isTensor() && source.toTensor().scalar_type() == at::kByte &&
          source.toTensor().dim() == 1 && source.toTensor().device().is_cpu(),
      "rushlight: the source of an Interpreter must be a path, or a flat uint8 tensor with a "
      "file's bytes");
  return source.toTensor().detach().contiguous().clone();
}

// Returns the number of bytes of the file, from its header. The validator checks the number later.
int64_t file_bytes(const at::Tensor &bytes) {
  if (bytes.numel() < RUSH_HEADER_BYTES) return bytes.numel();
  uint64_t n;
  std::memcpy(&n, static_cast<const char *>(bytes.const_data_ptr()) + 40, sizeof n);
  return n < static_cast<uint64_t>(bytes.numel()) ? static_cast<int64_t>(n) : bytes.numel();
}

// Returns the texts after each `"key":"` of a description.
std::vector<std::string> texts_at(const std::string &json, const std::string &key) {
  std::vector<std::string> out;
  const std::string mark = "\"" + key + "\":\"";
  for (size_t at = json.find(mark); at != std::string::npos; at = json.find(mark, at)) {
    at += mark.size();
    size_t end = at;
    while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
    out.push_back(json.substr(at, end - at));
  }
  return out;
}

void refuse_gradients(const c10::IValue &value) {
  if (value.isTensor()) {
    TORCH_CHECK(!value.toTensor().requires_grad(),
                "rushlight: a lowered model is for inference only: it gives no gradients, and an "
                "input requires "
                "them. Call it under torch.no_grad(), or pass input.detach()");
  } else if (value.isList()) {
    for (const c10::IValue &item : value.toListRef()) refuse_gradients(item);
  } else if (value.isTuple()) {
    for (const c10::IValue &item : value.toTupleRef().elements()) refuse_gradients(item);
  } else if (value.isGenericDict()) {
    for (const auto &entry : value.toGenericDict()) refuse_gradients(entry.value());
  }
}

void flatten(const c10::IValue &value, c10::List<at::Tensor> *out) {
  if (value.isTensor()) return out->push_back(value.toTensor());
  TORCH_CHECK(value.isTuple() || value.isTensorList(),
              "rushlight: the results of forward must be tensors, got ",
              value.type()->annotation_str(), ": use call('forward', ...)");
  if (value.isTensorList())
    out->append(value.toTensorList());
  else
    for (const c10::IValue &item : value.toTupleRef().elements()) flatten(item, out);
}

// Returns whether an operator draws random numbers. Recurrent layers draw some for dropout in
// training, which does not run here.
bool draws(const std::string &op) {
  if (op == "aten::manual_seed") return true;
  for (const char *layer : {"aten::lstm", "aten::gru", "aten::rnn_"})
    if (op.rfind(layer, 0) == 0) return false;
  const size_t dot = op.find('.');
  const auto handle = c10::Dispatcher::singleton().findSchema(
      {op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1)});
  if (!handle) return false;
  const auto &tags = handle->getTags();
  return std::find(tags.begin(), tags.end(), at::Tag::nondeterministic_seeded) != tags.end();
}

// Lends torch's generator to a session for a run. The generator's own lock is not held meanwhile,
// because its holder may wait for Python's lock, and so may a program that prints.
class Loan {
 public:
  explicit Loan(rush_session *session) : session_(session), turn_(turns()) {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    auto *cpu = at::check_generator<at::CPUGeneratorImpl>(generator);
    const at::mt19937_data_pod state = cpu->engine().data();
    rush_random random = {};
    std::copy(state.state_.begin(), state.state_.end(), random.words);
    random.used = state.left_ == 1 ? uint32_t{RUSH_RANDOM_WORDS} : state.next_;
    random.has_normal = cpu->next_double_normal_sample().has_value();
    random.normal = cpu->next_double_normal_sample().value_or(0);
    rush_session_set_random(session, &random);
  }
  ~Loan() {
    rush_random random;
    rush_session_get_random(session_, &random);
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard<std::mutex> lock(generator.mutex());
    auto *cpu = at::check_generator<at::CPUGeneratorImpl>(generator);
    at::mt19937 engine = cpu->engine();
    at::mt19937_data_pod state = engine.data();
    std::copy(random.words, random.words + RUSH_RANDOM_WORDS, state.state_.begin());
    state.next_ = random.used;
    state.left_ = RUSH_RANDOM_WORDS + 1 - static_cast<int>(random.used);
    engine.set_data(state);
    cpu->set_engine(engine);
    cpu->set_next_double_normal_sample(random.has_normal ? std::optional<double>(random.normal)
                                                         : std::nullopt);
  }
  Loan(const Loan &) = delete;

 private:
  static std::mutex &turns() {
    static std::mutex one;
    return one;
  }
  rush_session *session_;
  std::lock_guard<std::mutex> turn_;
};

class Interpreter : public torch::CustomClassHolder {
 public:
  // `state` is a file; `pickled`: and behind it the values of its attributes.
  Interpreter(const at::Tensor &state, bool pickled) {
    translated([&] {
      const int64_t n = pickled ? file_bytes(state) : state.numel();
      bytes_ = state.slice(0, 0, n);
      model_ = std::make_unique<Model>(bytes_);
      const std::string json = describe();
      for (const std::string &type : texts_at(json, "result"))
        results_.push_back(described_type(type));
      for (const std::string &name : texts_at(json, "name")) draws_ |= draws(name);
      if (stateful()) idle_.push_back(std::make_unique<Session>(model()));
      if (n < state.numel()) restore(state.slice(0, n));
    });
  }

  c10::IValue call(const std::string &method, const std::vector<c10::IValue> &args) {
    if (at::GradMode::is_enabled())
      for (const c10::IValue &arg : args) refuse_gradients(arg);
    return translated([&] { return run(find(method), args); });
  }

  c10::List<at::Tensor> forward(const c10::List<at::Tensor> &inputs) {
    c10::List<at::Tensor> out;
    std::vector<c10::IValue> args;
    for (size_t i = 0; i < inputs.size(); i++) args.emplace_back(inputs.get(i));
    flatten(call(rush_model_find_method(model(), "forward") < 0 ? rush_model_method_name(model(), 0)
                                                                : "forward",
                 args),
            &out);
    return out;
  }

  void reset() {
    if (!stateful()) return;
    translated([&] {
      const std::lock_guard<std::mutex> lock(running_);
      idle_[0]->context.check(rush_session_reset(idle_[0]->session));
    });
  }

  std::vector<std::string> methods() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < rush_model_method_count(model()); i++)
      out.emplace_back(rush_model_method_name(model(), i));
    return out;
  }

  std::string describe() const {
    Context context;
    char *text = nullptr;
    size_t size = 0;
    context.check(rush_model_describe(context.ctx, model(), RUSH_DESCRIBE_JSON, &text, &size));
    std::string out(text);
    rush_free(context.ctx, text, size);
    return out;
  }

  at::Tensor state() {
    if (!stateful()) return bytes_.clone();
    const std::vector<char> values =
        translated([&] { return torch::jit::pickle_save(attributes()); });
    at::Tensor out = at::empty({bytes_.numel() + static_cast<int64_t>(values.size())}, at::kByte);
    char *data = static_cast<char *>(out.mutable_data_ptr());
    std::memcpy(data, bytes_.const_data_ptr(), bytes_.nbytes());
    std::memcpy(data + bytes_.nbytes(), values.data(), values.size());
    return out;
  }

 private:
  // Returns a session for one run. A model with attributes has only one session, which stays in the
  // pool.
  class Turn {
   public:
    explicit Turn(Interpreter &of) : of_(of) {
      if (of.stateful()) {
        lock_ = std::unique_lock<std::mutex>(of.running_);
        return;
      }
      {
        const std::lock_guard<std::mutex> lock(of.running_);
        if (!of.idle_.empty()) {
          mine_ = std::move(of.idle_.back());
          of.idle_.pop_back();
          return;
        }
      }
      mine_ = std::make_unique<Session>(of.model());
    }
    ~Turn() {
      if (!mine_) return;
      const std::lock_guard<std::mutex> lock(of_.running_);
      if (of_.idle_.size() < std::max(1u, std::thread::hardware_concurrency()))
        of_.idle_.push_back(std::move(mine_));
    }
    Turn(const Turn &) = delete;
    Session &operator*() { return mine_ ? *mine_ : *of_.idle_[0]; }

   private:
    Interpreter &of_;
    std::unique_lock<std::mutex> lock_;
    std::unique_ptr<Session> mine_;
  };

  const rush_model *model() const { return model_->model; }
  bool stateful() const { return rush_model_attribute_count(model()) > 0; }

  size_t find(const std::string &method) const {
    const int at = rush_model_find_method(model(), method.c_str());
    if (at >= 0) return static_cast<size_t>(at);
    std::string known;
    for (const std::string &name : methods()) known += (known.empty() ? "" : ", ") + name;
    TORCH_CHECK(false, "rushlight: the model has no method '", method, "'; it has ", known);
  }

  c10::IValue run(size_t method, const std::vector<c10::IValue> &args) {
    Turn turn(*this);
    Session &s = *turn;
    Values values(s.context.ctx, s.session);
    const std::vector<rush_value> in = values.arguments(args);
    rush_value result = rush_none();
    std::optional<Loan> loan;
    if (draws_) loan.emplace(s.session);
    const rush_status status = rush_session_run(s.session, method, in.data(), in.size(), &result);
    loan.reset();
    const RuntimeError failure(status, s.context.ctx);
    values.write_back();
    rethrow_print();
    if (status != RUSH_OK) throw failure;
    return values.result(result, results_.at(method), true);
  }

  // (names, values) of the attributes.
  c10::IValue attributes() {
    Turn turn(*this);
    Session &s = *turn;
    Values values(s.context.ctx, s.session);
    c10::List<std::string> names;
    for (size_t i = 0; i < rush_model_attribute_count(model()); i++)
      names.push_back(rush_model_attribute_name(model(), i));
    return c10::ivalue::Tuple::create({names, values.attributes(model())});
  }

  void restore(const at::Tensor &pickled) {
    const c10::IValue state = unpickled(pickled);
    const size_t n = rush_model_attribute_count(model());
    const auto wrong = [] {
      throw std::invalid_argument("the pickled attributes are not those of this model");
    };
    if (!state.isTuple() || state.toTupleRef().size() != 2 ||
        !state.toTupleRef().elements()[1].isTuple())
      wrong();
    const auto &items = state.toTupleRef().elements()[1].toTupleRef().elements();
    if (items.size() != n || n == 0) wrong();
    Turn turn(*this);
    Session &s = *turn;
    Values values(s.context.ctx, s.session);
    const std::vector<rush_value> in = values.arguments(items);
    for (size_t i = 0; i < n; i++)
      s.context.check(rush_session_set_attribute(s.session, i, &in[i]));
  }

  at::Tensor bytes_;
  std::unique_ptr<Model> model_;
  std::vector<c10::TypePtr> results_;  // by method
  bool draws_ = false;                 // random numbers
  std::mutex running_;                 // of idle_, and of the session of a model with attributes
  std::vector<std::unique_ptr<Session>> idle_;
};

using Pointer = c10::intrusive_ptr<Interpreter>;

TORCH_LIBRARY(rushlight, m) {
  m.class_<Interpreter>("Interpreter")
      .def(torch::init([](const c10::IValue &source) {
        return c10::make_intrusive<Interpreter>(bytes_of(source), false);
      }))
      .def("forward", [](const Pointer &self,
                         const c10::List<at::Tensor> &inputs) { return self->forward(inputs); })
      .def("call", [](const Pointer &self, const std::string &method,
                      const std::vector<c10::IValue> &args) { return self->call(method, args); })
      .def("reset", [](const Pointer &self) { self->reset(); })
      .def("methods", [](const Pointer &self) { return self->methods(); })
      .def("describe", [](const Pointer &self) { return self->describe(); })
      .def_pickle([](const Pointer &self) { return self->state(); },
                  [](const at::Tensor &state) {
                    return c10::make_intrusive<Interpreter>(bytes_of(state), true);
                  });
}

}  // namespace

}  // namespace rush
