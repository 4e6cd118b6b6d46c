#include "run/native.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

namespace rush {

namespace {

// Values of one call; released together.
class Values {
 public:
  Values(rush_ctx *ctx, rush_session *session) : ctx_(ctx), session_(session) {}
  ~Values() {
    for (rush_value &v : owned_) rush_value_release(session_, &v);
  }
  Values(const Values &) = delete;

  rush_value make(const Const &c) {
    rush_value v = rush_none();
    switch (c.kind) {
      case RUSH_CONST_NONE:
        return v;
      case RUSH_CONST_INT:
        return rush_int(c.i);
      case RUSH_CONST_BOOL:
        return rush_bool(c.i != 0);
      case RUSH_CONST_FLOAT:
        return rush_float(c.f);
      case RUSH_CONST_COMPLEX:
        check(rush_complex_create(session_, c.f, c.im, &v));
        break;
      case RUSH_CONST_STR:
        check(rush_str_create(session_, c.s.data(), c.s.size(), &v));
        break;
      case RUSH_CONST_TENSOR:
      case RUSH_CONST_RANDOM:
        v = tensor(c.tensor);
        break;
      case RUSH_CONST_LIST:
        v = container(c, rush_list_create);
        break;
      case RUSH_CONST_TUPLE:
        v = container(c, rush_tuple_create);
        break;
      case RUSH_CONST_DICT:
        v = container(c, rush_dict_create);
        break;
      case RUSH_CONST_DEVICE:
        throw std::invalid_argument("a device cannot be passed to the runtime");
    }
    return own(v);
  }

  rush_value own(rush_value v) {
    owned_.push_back(v);
    return v;
  }

  Const read(const rush_value &v) {
    Const c;
    switch (v.kind) {
      case RUSH_KIND_NONE:
        return c;
      case RUSH_KIND_INT:
        return const_int(v.u.i);
      case RUSH_KIND_BOOL:
        return const_bool(v.u.i != 0);
      case RUSH_KIND_FLOAT:
        return const_float(v.u.f);
      case RUSH_KIND_COMPLEX:
        c.kind = RUSH_CONST_COMPLEX;
        rush_complex_get(&v, &c.f, &c.im);
        return c;
      case RUSH_KIND_STR:
      case RUSH_KIND_DEVICE: {
        size_t n = 0;
        const char *bytes = rush_str_bytes(&v, &n);
        c = const_str(std::string(bytes, n));
        if (v.kind == RUSH_KIND_DEVICE) c.kind = RUSH_CONST_DEVICE;
        return c;
      }
      case RUSH_KIND_TENSOR:
        return const_tensor(read_tensor(v));
      case RUSH_KIND_LIST:
        return read_items(v, RUSH_CONST_LIST);
      case RUSH_KIND_TUPLE:
        return read_items(v, RUSH_CONST_TUPLE);
      case RUSH_KIND_DICT:
        return read_items(v, RUSH_CONST_DICT);
      default:
        throw std::invalid_argument("the model returned a value that cannot be read");
    }
  }

 private:
  void check(rush_status status) {
    if (status != RUSH_OK) throw RuntimeError(status, rush_ctx_error(ctx_));
  }

  template <class Create>
  rush_value container(const Const &c, Create create) {
    std::vector<rush_value> items;
    for (const Const &item : c.items) items.push_back(make(item));
    rush_value v = rush_none();
    check(create(session_, items.data(), items.size(), &v));
    return v;
  }

  // The storage's copy as one flat tensor; views of it are what the program gets.
  rush_value flat(const at::Tensor &t) {
    const auto key = std::make_pair(static_cast<const void *>(t.storage().unsafeGetStorageImpl()),
                                    t.scalar_type());
    auto found = flat_.find(key);
    if (found != flat_.end()) return found->second;
    const int64_t n = static_cast<int64_t>(t.storage().nbytes() / t.itemsize());
    rush_value v;
    void *data;
    check(rush_tensor_create(session_, static_cast<rush_dtype>(t.scalar_type()), 1, &n, &v, &data));
    own(v);
    if (n) std::memcpy(data, t.storage().data(), static_cast<size_t>(n) * t.itemsize());
    flat_[key] = v;
    return v;
  }

  rush_value tensor(const at::Tensor &t) {
    if (t.layout() != at::kStrided || !t.device().is_cpu() || t.is_quantized())
      throw std::invalid_argument("only dense tensors on the cpu can be passed to the runtime");
    rush_value base = flat(t), v = rush_none();
    check(rush_tensor_view(session_, &base, static_cast<int>(t.dim()), t.sizes().data(),
                           t.strides().data(), t.storage_offset(), &v));
    return v;
  }

  at::Tensor read_tensor(const rush_value &v) {
    rush_tensor_info info;
    check(rush_tensor_inspect(session_, &v, &info));
    const auto options = at::TensorOptions().dtype(static_cast<at::ScalarType>(info.dtype));
    at::IntArrayRef sizes(info.sizes, static_cast<size_t>(info.rank));
    if (info.numel == 0) return at::empty(sizes, options);
    return at::from_blob(info.data, sizes, {info.strides, static_cast<size_t>(info.rank)}, options)
        .clone();
  }

  Const read_items(const rush_value &v, rush_const_kind kind) {
    Const c;
    c.kind = kind;
    size_t n = 0;
    const rush_value *items = rush_items(&v, &n);
    for (size_t i = 0; i < n; i++) c.items.push_back(read(items[i]));
    const TypeRef any = make_type(RUSH_TYPE_ANY);
    std::vector<TypeRef> types;
    for (const Const &item : c.items) types.push_back(type_of(item));
    c.type = kind == RUSH_CONST_LIST    ? list_of(any)
             : kind == RUSH_CONST_TUPLE ? make_type(RUSH_TYPE_TUPLE, types)
                                        : make_type(RUSH_TYPE_DICT, {any, any});
    return c;
  }

  rush_ctx *ctx_;
  rush_session *session_;
  std::vector<rush_value> owned_;
  std::map<std::pair<const void *, at::ScalarType>, rush_value> flat_;
};

}  // namespace

NativeSession::NativeSession(const std::string &bytes) {
  if (rush_ctx_create(nullptr, nullptr, &ctx_) != RUSH_OK) throw std::bad_alloc();
  rush_status status = rush_model_load(ctx_, bytes.data(), bytes.size(), &model_);
  if (status == RUSH_OK) status = rush_session_create(ctx_, model_, &session_);
  if (status == RUSH_OK) return;
  RuntimeError error(status, rush_ctx_error(ctx_));
  rush_model_destroy(ctx_, model_);
  rush_ctx_destroy(ctx_);
  throw error;
}

NativeSession::~NativeSession() {
  rush_session_destroy(session_);
  rush_model_destroy(ctx_, model_);
  rush_ctx_destroy(ctx_);
}

std::unique_ptr<NativeSession> NativeSession::open(const std::string &path) {
  return std::make_unique<NativeSession>(read_file(path));
}

void NativeSession::check(rush_status status) const {
  if (status != RUSH_OK) throw RuntimeError(status, rush_ctx_error(ctx_));
}

Const NativeSession::run(size_t method, const std::vector<Const> &args) {
  Values values(ctx_, session_);
  std::vector<rush_value> in;
  for (const Const &c : args) in.push_back(values.make(c));
  rush_value result = rush_none();
  check(rush_session_run(session_, method, in.data(), in.size(), &result));
  return values.read(values.own(result));
}

void NativeSession::reset() {
  check(rush_session_reset(session_));
}

size_t NativeSession::test_count() const {
  return rush_model_test_count(model_);
}

rush_verify_report NativeSession::verify(size_t test) {
  rush_verify_report report = {};
  check(rush_session_verify(session_, test, &report));
  return report;
}

size_t NativeSession::method(const std::string &name) const {
  int at = rush_model_find_method(model_, name.c_str());
  if (at >= 0) return static_cast<size_t>(at);
  std::string known;
  for (size_t i = 0; i < rush_model_method_count(model_); i++)
    known += (i ? ", " : "") + std::string(rush_model_method_name(model_, i));
  throw std::invalid_argument("the model has no method '" + name + "'; it has " + known);
}

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error(path + " cannot be read: " + std::strerror(errno));
  std::string bytes(static_cast<size_t>(file.tellg()), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw std::runtime_error(path + " cannot be read");
  return bytes;
}

std::string describe_file(const std::string &path, bool json) {
  rush_ctx *raw;
  if (rush_ctx_create(nullptr, nullptr, &raw) != RUSH_OK) throw std::bad_alloc();
  std::unique_ptr<rush_ctx, void (*)(rush_ctx *)> ctx(raw, rush_ctx_destroy);
  auto check = [&](rush_status status) {
    if (status != RUSH_OK) throw RuntimeError(status, path + ": " + rush_ctx_error(raw));
  };
  rush_loader *loader_raw;
  check(rush_loader_create(raw, &loader_raw));
  std::unique_ptr<rush_loader, void (*)(rush_loader *)> loader(loader_raw, rush_loader_destroy);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read: " + std::strerror(errno));
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
  check(rush_model_describe(raw, rush_loader_head(loader.get()),
                            json ? RUSH_DESCRIBE_JSON : RUSH_DESCRIBE_TEXT, &text, &size));
  std::string out(text);
  rush_free(raw, text, size);
  return out;
}

}  // namespace rush
