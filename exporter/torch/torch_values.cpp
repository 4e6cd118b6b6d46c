#include "torch_values.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>
#include <c10/util/strides.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

namespace rush {

namespace {

// A strided view keeps its strides, unless it reaches over this many bytes and this many times its
// elements: then it is passed as a contiguous copy.
constexpr size_t kSparse = 4, kFar = 16 << 20;

bool sparse(size_t reach, size_t item, size_t elements) {
  return reach > kFar && reach / item > kSparse * elements;
}

size_t reach(const at::Tensor &t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); d++) last += (t.size(d) - 1) * t.stride(d);
  return static_cast<size_t>(last + 1) * t.itemsize();
}

constexpr size_t kNear = 64 << 10;

// Bytes of its storage in front of it, which go with it: storage_offset() and as_strided count from
// there. Where it is more than the tensor itself, and not just a little, they count from its first
// element.
size_t lead(const at::Tensor &t, size_t bytes) {
  const size_t front = static_cast<size_t>(t.storage_offset()) * t.itemsize();
  return t.numel() > 0 && front <= kNear + bytes ? front : 0;
}

char *address(const at::Tensor &t) {
  return static_cast<char *>(const_cast<void *>(t.const_data_ptr()));
}

// Its memory does not hold its values.
bool lazy(const at::Tensor &t) {
  return t.is_conj() || t.is_neg();
}

// Copies tensors of the same sizes. An expanded tensor's elements are written once each: the program
// may have written them through a part that repeats none.
void copy_once(const at::Tensor &to, at::Tensor from) {
  at::Tensor once = to.detach();
  for (int64_t d = 0; d < to.dim(); d++) {
    if (to.stride(d) != 0 || to.size(d) < 2) continue;
    once = once.narrow(d, 0, 1);
    from = from.narrow(d, 0, 1);
  }
  once.copy_(from);
}

// Functorch's tensors have no storage, fake tensors and zero tensors no memory, and a storage may
// have been made smaller.
bool holds_elements(const at::Tensor &t) {
  if (!t.has_storage()) return false;
  if (t.numel() == 0) return true;
  const size_t end = static_cast<size_t>(t.storage_offset()) * t.itemsize() + reach(t);
  return end <= t.storage().nbytes() && address(t);
}

void require_dense(const at::Tensor &t) {
  const char *what = t.is_nested()                ? "nested"
                     : t.is_mkldnn()              ? "mkldnn"
                     : t.layout() != at::kStrided ? "sparse"
                     : t.is_quantized()           ? "quantized"
                                                  : nullptr;
  if (what)
    throw std::invalid_argument(std::string("a ") + what + " tensor cannot be passed to a model");
  if (!t.device().is_cpu())
    throw std::invalid_argument("a tensor must be on the CPU, got one on " + t.device().str());
  if (!holds_elements(t))
    throw std::invalid_argument(
        "this kind of tensor has no strided memory and cannot be passed to a model");
}

}  // namespace

namespace {
thread_local std::exception_ptr failed_print;
}  // namespace

void print_as_torch(void *, const char *text, size_t size) {
  if (failed_print) return;
  try {
    const std::string printed(text, size);
    torch::jit::getPrintHandler()(isatty(STDOUT_FILENO) ? printable(printed) : printed);
  } catch (...) {
    failed_print = std::current_exception();
  }
}

void rethrow_print() {
  if (failed_print) std::rethrow_exception(std::exchange(failed_print, nullptr));
}

Values::~Values() {
  for (rush_value &v : owned_) rush_value_release(session_, &v);
}

void Values::check(rush_status status) const {
  if (status != RUSH_OK) throw RuntimeError(status, ctx_);
}

rush_value Values::own(rush_value value) {
  owned_.push_back(value);
  return value;
}

// ---- Arguments

void Values::take(const c10::IValue &value, std::vector<at::Tensor> *out) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) out->push_back(value.toTensor());
  } else if (value.isList()) {
    const auto kind = value.toList().elementType()->kind();
    if (kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType) return;
    for (const c10::IValue &item : value.toListRef()) take(item, out);
  } else if (value.isTuple()) {
    for (const c10::IValue &item : value.toTupleRef().elements()) take(item, out);
  } else if (value.isGenericDict()) {
    for (const auto &entry : value.toGenericDict()) take(entry.value(), out);
  }
}

std::vector<rush_value> Values::arguments(const std::vector<c10::IValue> &args) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue &arg : args) take(arg, &tensors);
  share(std::move(tensors));
  std::vector<rush_value> out;
  for (const c10::IValue &arg : args) out.push_back(make(arg));
  return out;
}

void Values::share(std::vector<at::Tensor> tensors) {
  for (const at::Tensor &t : tensors) require_dense(t);
  std::sort(tensors.begin(), tensors.end(), [](const at::Tensor &a, const at::Tensor &b) {
    return std::make_pair(a.scalar_type(), address(a)) <
           std::make_pair(b.scalar_type(), address(b));
  });
  for (size_t i = 0; i < tensors.size();) {
    std::vector<at::Tensor> group{tensors[i]};
    char *begin = address(tensors[i]), *end = begin + reach(tensors[i]);
    for (i++; i < tensors.size(); i++) {
      const at::Tensor &t = tensors[i];
      const bool same = t.unsafeGetTensorImpl() == group[0].unsafeGetTensorImpl();
      if (!same && (lazy(t) || lazy(group[0]) || t.scalar_type() != group[0].scalar_type() ||
                    address(t) >= end || t.storage().data() != group[0].storage().data()))
        break;
      group.push_back(t);
      end = std::max(end, address(t) + reach(t));
    }
    begin -= lead(group[0], static_cast<size_t>(end - begin));
    share_one(group, begin, static_cast<size_t>(end - begin));
  }
}

// Makes the memory of a group in the runtime, with the tensors' elements.
void Values::fill_base(Shared *s) {
  const at::Tensor &first = s->tensors[0];
  const int64_t elements =
      s->compact ? first.numel() : static_cast<int64_t>(s->bytes / first.itemsize());
  void *data = nullptr;
  check(rush_tensor_create(session_, static_cast<rush_dtype>(first.scalar_type()), 1, &elements,
                           &s->base, &data));
  own(s->base);
  s->theirs = static_cast<char *>(data);
  if (elements == 0) return;
  if (s->compact) {
    at::NoGradGuard no_grad;
    at::from_blob(data, first.sizes(), first.options().requires_grad(false)).copy_(first);
    s->bytes = static_cast<size_t>(elements) * first.itemsize();
  } else {
    std::memcpy(data, s->ours, s->bytes);
  }
}

void Values::share_one(const std::vector<at::Tensor> &tensors, char *begin, size_t bytes) {
  const at::Tensor &first = tensors[0];
  const bool alone =
      tensors.size() == 1 && sparse(bytes, first.itemsize(), static_cast<size_t>(first.numel()));
  Shared s{rush_none(),           nullptr, begin, bytes, bytes == 0 || lazy(first) || alone, {},
           first.storage().data()};
  for (const at::Tensor &t : tensors) s.tensors.push_back(t.detach());
  fill_base(&s);
  for (const at::Tensor &t : tensors) {
    const int64_t offset =
        s.compact ? 0 : (address(t) - begin) / static_cast<int64_t>(t.itemsize());
    const c10::DimVector dense = c10::contiguous_strides(t.sizes());
    const at::IntArrayRef strides = s.compact && t.numel() ? at::IntArrayRef(dense) : t.strides();
    rush_value v = rush_none();
    check(rush_tensor_view(session_, &s.base, static_cast<int>(t.dim()), t.sizes().data(),
                           strides.data(), offset, &v));
    made_[t.unsafeGetTensorImpl()] = own(v);
    kept_.push_back(t);
  }
  shared_.push_back(std::move(s));
}

rush_value Values::make(const c10::IValue &value) {
  rush_value v = rush_none();
  if (value.isNone()) return v;
  if (value.isBool()) return rush_bool(value.toBool());
  if (value.isInt()) return rush_int(value.toInt());
  if (value.isDouble()) return rush_float(value.toDouble());
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return v;
    auto found = made_.find(value.toTensor().unsafeGetTensorImpl());
    if (found == made_.end()) {
      share({value.toTensor()});
      found = made_.find(value.toTensor().unsafeGetTensorImpl());
    }
    return found->second;
  }
  if (value.isString()) {
    const std::string &s = value.toStringRef();
    check(rush_str_create(session_, s.data(), s.size(), &v));
  } else if (value.isComplexDouble()) {
    const c10::complex<double> z = value.toComplexDouble();
    check(rush_complex_create(session_, z.real(), z.imag(), &v));
  } else if (value.isList()) {
    const std::vector<c10::IValue> items = value.toListRef().vec();
    v = container(items, rush_list_create);
  } else if (value.isTuple()) {
    v = container(value.toTupleRef().elements(), rush_tuple_create);
  } else if (value.isGenericDict()) {
    std::vector<c10::IValue> items;
    for (const auto &entry : value.toGenericDict()) {
      items.push_back(entry.key());
      items.push_back(entry.value());
    }
    v = container(items, rush_dict_create);
  } else {
    throw std::invalid_argument("a value of type " + value.type()->annotation_str() +
                                " cannot be passed to the runtime");
  }
  return own(v);
}

template <class Create>
rush_value Values::container(const c10::ArrayRef<c10::IValue> &items, Create create) {
  std::vector<rush_value> values;
  for (const c10::IValue &item : items) values.push_back(make(item));
  rush_value v = rush_none();
  check(create(session_, values.data(), values.size(), &v));
  return v;
}

bool Values::Shared::unmoved() const {
  const c10::Storage &now = tensors[0].storage();
  const char *end = static_cast<const char *>(now.data()) + now.nbytes();
  return now.data() == storage && (compact ? holds_elements(tensors[0]) : ours + bytes <= end);
}

bool Values::Shared::dense() const {
  const at::Tensor &t = tensors[0];
  return tensors.size() == 1 && t.is_non_overlapping_and_dense() && reach(t) == bytes;
}

void Values::write_back() {
  at::NoGradGuard no_grad;
  for (Shared &s : shared_) {
    rush_tensor_info info;  // resize_ puts a tensor's elements elsewhere
    check(rush_tensor_inspect(session_, &s.base, &info));
    s.theirs = static_cast<char *>(info.data);
    if (s.bytes == 0 || !s.unmoved()) continue;
    if (!s.compact && std::memcmp(s.theirs, s.ours, s.bytes) == 0) continue;
    const int64_t start = s.ours - static_cast<const char *>(s.storage);
    for (const at::Tensor &t : s.tensors) {
      const int64_t place = t.storage_offset() * static_cast<int64_t>(t.itemsize());
      const int64_t offset = s.compact ? 0 : place - start;
      const auto options = t.options().requires_grad(false);
      at::Tensor written = s.compact
                               ? at::from_blob(s.theirs, t.sizes(), options)
                               : at::from_blob(s.theirs + offset, t.sizes(), t.strides(), options);
      if (s.compact && written.equal(t.detach())) continue;
      if (t.is_non_overlapping_and_dense() && !s.compact) {
        std::memcpy(t.mutable_data_ptr(), s.theirs + offset, reach(t));
      } else {
        copy_once(t, written);
      }
      if (!t.is_inference()) t.unsafeGetTensorImpl()->bump_version();
    }
    // Memory between a tensor's elements, or in front of them, may belong to another thread. Writes
    // of the program there (as_strided, resize_) do not reach the caller.
    s.same = s.compact || s.dense() || std::memcmp(s.theirs, s.ours, s.bytes) == 0;
  }
}

// ---- Results

c10::IValue Values::attributes(const rush_model *model) {
  std::vector<rush_value> items(rush_model_attribute_count(model), rush_none());
  rush_value all = rush_none();
  rush_status status = RUSH_OK;
  for (size_t i = 0; i < items.size() && status == RUSH_OK; i++)
    status = rush_session_get_attribute(session_, i, &items[i]);
  if (status == RUSH_OK) status = rush_tuple_create(session_, items.data(), items.size(), &all);
  for (rush_value &v : items) rush_value_release(session_, &v);
  check(status);
  return result(all, nullptr, false);
}

c10::IValue Values::result(rush_value value, const c10::TypePtr &type, bool alias) {
  own(value);
  regions_.clear();
  for (const Shared &s : shared_)
    if (alias && !s.compact && s.same && s.unmoved())
      regions_.push_back(
          {s.theirs, s.theirs + s.bytes, s.tensors[0].storage(),
           static_cast<size_t>(s.ours - static_cast<const char *>(s.tensors[0].storage().data()))});
  // Other tensors need new storages only if they share memory with each other.
  std::vector<Region> found;
  read_ = 0;
  find_regions(value, &found, 0);  // which sees an end of it, so that read() comes to one
  std::sort(found.begin(), found.end(),
            [](const Region &a, const Region &b) { return a.begin < b.begin; });
  for (size_t i = 0; i < found.size();) {
    Region r = found[i];
    size_t n = 1;
    for (i++; i < found.size() && found[i].begin < r.end; i++, n++)
      r.end = std::max(r.end, found[i].end);
    const auto inside = [&](const Region &a) { return r.begin >= a.begin && r.end <= a.end; };
    if (n == 1 || std::any_of(regions_.begin(), regions_.end(), inside)) continue;
    const size_t bytes = static_cast<size_t>(r.end - r.begin);
    r.storage = at::empty({static_cast<int64_t>(bytes)}, at::kByte).storage();
    std::memcpy(r.storage.mutable_data(), r.begin, bytes);
    regions_.push_back(r);
  }
  return read(value, type);
}

void Values::take_one(int depth) {
  if (depth > kDeepest)
    throw RuntimeError(RUSH_ERR_UNSUPPORTED, "the result is nested too deeply: more than " +
                                                 std::to_string(kDeepest) +
                                                 " lists, tuples or dicts in each other");
  if (++read_ > kMostValues)
    throw RuntimeError(RUSH_ERR_UNSUPPORTED,
                       "the result is too large for PyTorch: with its shared parts expanded, "
                       "it has more than 2^24 values");
}

void Values::find_regions(const rush_value &value, std::vector<Region> *out, int depth) {
  take_one(depth);
  if (value.kind == RUSH_KIND_LIST || value.kind == RUSH_KIND_TUPLE ||
      value.kind == RUSH_KIND_DICT) {
    size_t n = 0;
    const rush_value *items = rush_items(&value, &n);
    for (size_t i = 0; i < n; i++) find_regions(items[i], out, depth + 1);
  }
  if (value.kind != RUSH_KIND_TENSOR) return;
  rush_tensor_info info;
  check(rush_tensor_inspect(session_, &value, &info));
  if (info.numel == 0) return;
  int64_t last = 0;
  for (int d = 0; d < info.rank; d++) last += (info.sizes[d] - 1) * info.strides[d];
  const char *begin = static_cast<const char *>(info.data);
  const size_t item = at::elementSize(static_cast<at::ScalarType>(info.dtype));
  out->push_back({begin, begin + static_cast<size_t>(last + 1) * item, {}, 0});
}

at::Tensor Values::read_tensor(const rush_value &value) {
  rush_tensor_info info;
  check(rush_tensor_inspect(session_, &value, &info));
  const auto options = at::TensorOptions().dtype(static_cast<at::ScalarType>(info.dtype));
  at::IntArrayRef sizes(info.sizes, static_cast<size_t>(info.rank));
  at::IntArrayRef strides(info.strides, static_cast<size_t>(info.rank));
  if (info.numel == 0) return at::empty_strided(sizes, strides, options);
  const char *data = static_cast<const char *>(info.data);
  const size_t item = at::elementSize(static_cast<at::ScalarType>(info.dtype));
  int64_t last = 0;
  for (int d = 0; d < info.rank; d++) last += (info.sizes[d] - 1) * info.strides[d];
  const char *end = data + static_cast<size_t>(last + 1) * item;
  for (const Region &r : regions_) {
    const size_t offset = r.offset + static_cast<size_t>(data - r.begin);
    if (data >= r.begin && end <= r.end && offset % item == 0)  // set_ enlarges a storage
      return at::empty({0}, options)
          .set_(r.storage, static_cast<int64_t>(offset / item), sizes, strides);
  }
  if (sparse(static_cast<size_t>(last + 1) * item, item, static_cast<size_t>(info.numel)))
    return at::from_blob(info.data, sizes, strides, options).clone();
  return at::from_blob(info.data, {last + 1}, options).clone().as_strided(sizes, strides);
}

namespace {

// Returns the type of the value that was read; Any if items differ.
c10::TypePtr type_of(const c10::IValue &v) {
  return v.isTensor() ? c10::TypePtr(c10::TensorType::get()) : v.type();
}

c10::TypePtr common(const std::vector<c10::IValue> &items, size_t first, size_t step,
                    const c10::TypePtr &none) {
  c10::TypePtr out;
  for (size_t i = first; i < items.size(); i += step) {
    const c10::TypePtr t = type_of(items[i]);
    if (out && *out != *t) return c10::AnyType::get();
    out = t;
  }
  return out ? out : none;
}

c10::TypePtr inner(const c10::TypePtr &type, size_t i) {
  return type && i < type->containedTypeSize() ? type->containedType(i) : nullptr;
}

bool known(const c10::TypePtr &type) {
  return type && type->kind() != c10::TypeKind::AnyType;
}

}  // namespace

c10::IValue Values::read(const rush_value &value, const c10::TypePtr &given) {
  c10::TypePtr type = given;
  if (type && type->kind() == c10::TypeKind::OptionalType) type = inner(type, 0);
  switch (value.kind) {
    case RUSH_KIND_NONE:
      return {};
    case RUSH_KIND_INT:
      return value.u.i;
    case RUSH_KIND_BOOL:
      return value.u.i != 0;
    case RUSH_KIND_FLOAT:
      return value.u.f;
    case RUSH_KIND_TENSOR:
      return read_tensor(value);
    case RUSH_KIND_COMPLEX: {
      double re, im;
      rush_complex_get(&value, &re, &im);
      return c10::complex<double>(re, im);
    }
    case RUSH_KIND_STR:
    case RUSH_KIND_DEVICE: {
      size_t n = 0;
      const char *bytes = rush_str_bytes(&value, &n);
      if (value.kind == RUSH_KIND_DEVICE) return c10::Device(std::string(bytes, n));
      return std::string(bytes, n);
    }
    case RUSH_KIND_LIST:
    case RUSH_KIND_TUPLE:
    case RUSH_KIND_DICT:
      return read_items(value, type);
    default:
      throw std::invalid_argument("the model returned a value that has no type in PyTorch");
  }
}

c10::IValue Values::read_items(const rush_value &value, c10::TypePtr type) {
  const bool list = value.kind == RUSH_KIND_LIST, tuple = value.kind == RUSH_KIND_TUPLE;
  if (type && type->kind() != (list    ? c10::TypeKind::ListType
                               : tuple ? c10::TypeKind::TupleType
                                       : c10::TypeKind::DictType))
    type = nullptr;
  size_t n = 0;
  const rush_value *raw = rush_items(&value, &n);
  std::vector<c10::IValue> items;
  for (size_t i = 0; i < n; i++)
    items.push_back(read(raw[i], inner(type, list ? 0 : tuple ? i : i % 2)));
  if (tuple) return c10::ivalue::Tuple::create(std::move(items));
  if (list) {
    const c10::TypePtr item = type ? inner(type, 0) : common(items, 0, 1, c10::TensorType::get());
    c10::impl::GenericList out(item);
    for (c10::IValue &v : items) out.push_back(std::move(v));
    return out;
  }
  const c10::TypePtr key =
      known(inner(type, 0)) ? inner(type, 0) : common(items, 0, 2, c10::StringType::get());
  const c10::TypePtr item = type ? inner(type, 1) : common(items, 1, 2, c10::TensorType::get());
  c10::impl::GenericDict out(key, item);
  for (size_t i = 0; i + 1 < n; i += 2) out.insert(std::move(items[i]), std::move(items[i + 1]));
  return out;
}

// ---- Types as text

namespace {

struct TypeParser {
  const std::string &text;
  size_t at = 0;

  bool eat(const char *word) {
    const size_t n = std::strlen(word);
    if (text.compare(at, n, word) != 0) return false;
    at += n;
    return true;
  }

  c10::TypePtr type(int depth = 0) {
    if (depth > RUSH_MAX_NESTING) throw std::invalid_argument("a type is nested too deeply");
    size_t end = at;
    while (end < text.size() && !std::strchr("(),[]?", text[end])) end++;
    const std::string name = text.substr(at, end - at);
    at = end;
    c10::TypePtr out = eat("(") ? constructed(name, depth) : plain(name);
    for (;;) {
      if (eat("[]"))
        out = c10::ListType::create(out);
      else if (eat("?"))
        out = c10::OptionalType::create(out);
      else
        return out;
    }
  }

  c10::TypePtr constructed(const std::string &name, int depth) {
    std::vector<c10::TypePtr> items;
    while (at < text.size() && !eat(")")) {
      items.push_back(type(depth + 1));
      eat(", ");
    }
    if (name == "Dict" && items.size() == 2) return c10::DictType::create(items[0], items[1]);
    if (name == "Union" || name == "Future" || name == "Dict") return c10::AnyType::get();
    return c10::TupleType::create(std::move(items));  // a named one, too
  }

  static c10::TypePtr plain(const std::string &name) {
    if (name == "Tensor") return c10::TensorType::get();
    if (name == "int") return c10::IntType::get();
    if (name == "float") return c10::FloatType::get();
    if (name == "bool") return c10::BoolType::get();
    if (name == "str") return c10::StringType::get();
    if (name == "complex") return c10::ComplexType::get();
    if (name == "NoneType") return c10::NoneType::get();
    if (name == "Device") return c10::DeviceObjType::get();
    return c10::AnyType::get();
  }
};

}  // namespace

c10::TypePtr described_type(const std::string &text) {
  TypeParser p{text};
  return p.type();
}

}  // namespace rush
