#include "run/native.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "run/runtime_values.h"

namespace rush {

NativeSession::Context NativeSession::make_context(const Limits &limits) {
  rush_ctx *ctx;
  if (rush_ctx_create(nullptr, nullptr, &ctx) != RUSH_OK) throw std::bad_alloc();
  Context out(ctx, rush_ctx_destroy);
  rush_ctx_set_memory_limit(ctx, limits.bytes);
  rush_ctx_set_poll(ctx, limits.poll, nullptr);
  const rush_status status = rush_ctx_set_threads(ctx, limits.threads);
  if (status != RUSH_OK) throw RuntimeError(status, ctx);
  return out;
}

NativeSession::NativeSession(const std::string &bytes, const Limits &limits)
    : ctx_(make_context(limits)), loaded_(std::make_shared<Loaded>()) {
  loaded_->ctx = ctx_;
  check(rush_model_load(ctx(), bytes.data(), bytes.size(), &loaded_->model));
  make_session(limits);
}

namespace {

// Returns the number of bytes that were not read.
uint64_t rest_of(std::ifstream &file) {
  file.clear();
  const std::streamoff at = file.tellg();
  file.seekg(0, std::ios::end);
  return static_cast<uint64_t>(file.tellg() - at);
}

}  // namespace

NativeSession::NativeSession(std::ifstream &file, const Limits &limits)
    : ctx_(make_context(limits)), loaded_(std::make_shared<Loaded>()) {
  loaded_->ctx = ctx_;
  rush_loader *raw;
  check(rush_loader_create(ctx(), &raw));
  const std::unique_ptr<rush_loader, void (*)(rush_loader *)> loader(raw, rush_loader_destroy);
  while (read_some(file, raw)) {
  }
  check(rush_loader_finish(raw, &loaded_->model));
  if (const uint64_t more = rest_of(file); more > 0)
    throw RuntimeError(RUSH_ERR_BAD_FILE,
                       std::to_string(more) + " bytes follow the end of the file");
  make_session(limits);
}

// Reads the next bytes of the file to their final place. Returns false at its end, or if the model is
// complete.
bool NativeSession::read_some(std::ifstream &file, rush_loader *loader) {
  void *at;
  size_t room;
  check(rush_loader_window(loader, &at, &room));
  file.read(static_cast<char *>(at), static_cast<std::streamsize>(room));
  const size_t n = static_cast<size_t>(file.gcount());
  check(rush_loader_advance(loader, n));
  return n > 0;
}

NativeSession::NativeSession(const NativeSession &other, const Limits &limits)
    : ctx_(make_context(limits)), loaded_(other.loaded_) {
  make_session(limits);
}

void NativeSession::make_session(const Limits &limits) {
  check(rush_session_create(ctx(), model(), &session_));
  rush_session_set_step_limit(session_, limits.steps);
}

NativeSession::~NativeSession() {
  rush_session_destroy(session_);
}

NativeSession::Turn::Turn(NativeSession &of) : of_(of) {
  if (of.busy_.test_and_set())
    throw RuntimeError(RUSH_ERR_BAD_STATE,
                       "the session is already running: one thread at a time may use it, and "
                       "functions that its run calls must not use it. session.clone() makes "
                       "another session of the same model");
}

std::unique_ptr<NativeSession> NativeSession::open(const std::string &path, const Limits &limits) {
  std::ifstream file = open_file(path);
  try {
    return std::make_unique<NativeSession>(file, limits);
  } catch (const RuntimeError &e) {
    if (e.status != RUSH_ERR_BAD_FILE) throw;
    throw RuntimeError(e.status, path + ": " + e.what());
  }
}

void NativeSession::check(rush_status status) const {
  if (status != RUSH_OK) throw RuntimeError(status, ctx());
}

namespace {

// Throws RuntimeError for a tensor of a dtype that is not supported.
void require_dtypes(const rush_model *m, size_t method, const std::vector<Const> &args) {
  for (size_t i = 0; i < std::min(args.size(), rush_model_input_count(m, method)); i++)
    each_tensor(args[i], [&](const Const &c) {
      const rush_dtype dtype = c.tensor.dtype();
      if (rush_has_dtype(static_cast<int>(dtype))) return;
      throw RuntimeError(RUSH_ERR_UNSUPPORTED,
                         std::string(rush_model_method_name(m, method)) + ": input '" +
                             rush_model_input_name(m, method, i) + "' has dtype " +
                             dtype_name(dtype) + ", which is not supported");
    });
}

}  // namespace

void NativeSession::set_print(Print print) {
  print_ = std::move(print);
  const rush_print_fn write = [](void *self, const char *text, size_t size) {
    static_cast<NativeSession *>(self)->print(std::string(text, size));
  };
  rush_ctx_set_print(ctx(), write, this);
}

// Exceptions do not pass through the runtime.
void NativeSession::print(const std::string &text) {
  if (failed_print_) return;
  try {
    print_(text);
  } catch (...) {
    failed_print_ = std::current_exception();
  }
}

void NativeSession::finish(rush_status status) {
  if (failed_print_) std::rethrow_exception(std::exchange(failed_print_, nullptr));
  check(status);
}

Const NativeSession::run(size_t method, const std::vector<Const> &args) {
  require_dtypes(model(), method, args);
  RuntimeValues values(ctx(), session_);
  const std::vector<rush_value> in = values.arguments(args);
  rush_value result = rush_none();
  finish(rush_session_run(session_, method, in.data(), in.size(), &result));
  return values.result(result);
}

std::vector<std::pair<std::string, Const>> NativeSession::state() {
  RuntimeValues values(ctx(), session_);
  std::vector<std::pair<std::string, Const>> out;
  for (Const &value : values.attributes(model()).items)
    out.emplace_back(rush_model_attribute_name(model(), out.size()), std::move(value));
  return out;
}

void NativeSession::set_state(const std::vector<std::pair<size_t, Const>> &values) {
  RuntimeValues created(ctx(), session_);
  std::vector<Const> given;
  for (const auto &[i, value] : values) given.push_back(value);
  const std::vector<rush_value> in = created.arguments(given);
  for (size_t k = 0; k < in.size(); k++)
    check(rush_session_set_attribute(session_, values[k].first, &in[k]));
}

size_t NativeSession::attribute(const std::string &name) const {
  std::string known;
  for (size_t i = 0; i < rush_model_attribute_count(model()); i++) {
    if (name == rush_model_attribute_name(model(), i)) return i;
    known += (i ? ", " : "") + std::string(rush_model_attribute_name(model(), i));
  }
  throw std::invalid_argument("the program writes no attribute '" + name + "'; it writes " +
                              (known.empty() ? "none" : known));
}

void NativeSession::reset() {
  check(rush_session_reset(session_));
}

size_t NativeSession::test_count() const {
  return rush_model_test_count(model());
}

void NativeSession::verify(size_t test, rush_verify_report *report) {
  finish(rush_session_verify(session_, test, report));
}

size_t NativeSession::method(const std::string &name) const {
  int at = rush_model_find_method(model(), name.c_str());
  if (at >= 0) return static_cast<size_t>(at);
  std::string known;
  for (size_t i = 0; i < rush_model_method_count(model()); i++)
    known += (i ? ", " : "") + std::string(rush_model_method_name(model(), i));
  throw std::invalid_argument("the model has no method '" + name + "'; it has " + known);
}

namespace {

// Names of classes in a file may be any text: the type is Any if it cannot be parsed.
TypeRef parsed(rush_ctx *ctx, char *text, size_t size) {
  const std::string copy(text);
  rush_free(ctx, text, size);
  try {
    return parse_type(copy);
  } catch (const std::invalid_argument &) {
    return make_type(RUSH_TYPE_ANY);
  }
}

}  // namespace

const std::vector<TypeRef> &NativeSession::input_types(size_t method) {
  auto [at, is_new] = input_types_.try_emplace(method);
  for (size_t i = 0; is_new && i < rush_model_input_count(model(), method); i++) {
    char *text;
    size_t size;
    check(rush_model_input_type(ctx(), model(), method, i, &text, &size));
    at->second.push_back(parsed(ctx(), text, size));
  }
  return at->second;
}

const TypeRef &NativeSession::result_type(size_t method) {
  TypeRef &out = result_types_[method];
  if (out) return out;
  char *text;
  size_t size;
  check(rush_model_result_type(ctx(), model(), method, &text, &size));
  return out = parsed(ctx(), text, size);
}

std::string describe_file(const std::string &path, rush_describe_form form) {
  rush_ctx *raw;
  if (rush_ctx_create(nullptr, nullptr, &raw) != RUSH_OK) throw std::bad_alloc();
  std::unique_ptr<rush_ctx, void (*)(rush_ctx *)> ctx(raw, rush_ctx_destroy);
  auto check = [&](rush_status status) {
    if (status != RUSH_OK) throw RuntimeError(status, path + ": " + rush_ctx_error(raw));
  };
  rush_loader *loader_raw;
  check(rush_loader_create(raw, &loader_raw));
  std::unique_ptr<rush_loader, void (*)(rush_loader *)> loader(loader_raw, rush_loader_destroy);
  std::ifstream file = open_file(path);
  while (!rush_loader_head(loader.get())) {
    void *at;
    size_t room;
    check(rush_loader_window(loader.get(), &at, &room));
    file.read(static_cast<char *>(at), static_cast<std::streamsize>(room));
    const size_t n = static_cast<size_t>(file.gcount());
    if (n == 0) throw std::runtime_error(path + " ends before its head is complete");
    check(rush_loader_advance(loader.get(), n));
  }
  char *text;
  size_t size;
  check(rush_model_describe(raw, rush_loader_head(loader.get()), form, &text, &size));
  std::string out(text);
  rush_free(raw, text, size);
  return out;
}

}  // namespace rush
