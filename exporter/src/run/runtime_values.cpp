#include "run/runtime_values.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/runtime_error.h"

namespace rush {

namespace {

// A strided view keeps its strides, unless it reaches over this many bytes and this many times its
// elements: then it is passed as a contiguous copy.
constexpr size_t kSparse = 4, kFar = 16 << 20;

bool is_sparse(size_t reach, size_t item, size_t elements) {
  return reach > kFar && reach / item > kSparse * elements;
}

constexpr size_t kNear = 64 << 10;

// Bytes of its storage before a tensor, which the runtime gets, too: storage_offset() and as_strided
// count from there. If they are many more than the tensor's, the runtime counts from the tensor's first
// element.
size_t lead(const Tensor &t, size_t bytes) {
  const size_t front = static_cast<size_t>(t.storage_offset()) * t.itemsize();
  return t.numel() > 0 && front <= kNear + bytes ? front : 0;
}

void require_dense(const Tensor &t) {
  const Foreign &foreign = t.foreign();
  if (!foreign.form.empty())
    throw std::invalid_argument("a " + foreign.form + " tensor cannot be passed to a model");
  if (!foreign.device.empty())
    throw std::invalid_argument("a tensor must be on the CPU, got one on " + foreign.device);
  if (foreign.no_memory)
    throw std::invalid_argument(
        "this kind of tensor has no strided memory and cannot be passed to a model");
}

void collect(const Const &value, std::vector<Tensor> *out) {
  if (value.tensor.defined()) out->push_back(value.tensor);
  for (const Const &item : value.items) collect(item, out);
}

bool is_container(const rush_value &value) {
  return value.kind == RUSH_KIND_LIST || value.kind == RUSH_KIND_TUPLE ||
         value.kind == RUSH_KIND_DICT;
}

size_t item_bytes(const rush_tensor_info &info) {
  return dtype_bytes(static_cast<rush_dtype>(info.dtype));
}

// Returns the bytes from the first element to the end of the last one.
size_t reach_of(const rush_tensor_info &info) {
  int64_t last = 0;
  for (int d = 0; d < info.rank; d++) last += (info.sizes[d] - 1) * info.strides[d];
  return static_cast<size_t>(last + 1) * item_bytes(info);
}

}  // namespace

RuntimeValues::~RuntimeValues() {
  for (rush_value &v : owned_) rush_value_release(session_, &v);
}

void RuntimeValues::check(rush_status status) const {
  if (status != RUSH_OK) throw RuntimeError(status, ctx_);
}

rush_value RuntimeValues::adopt(rush_value value) {
  owned_.push_back(value);
  return value;
}

// ---- Arguments

std::vector<rush_value> RuntimeValues::arguments(const std::vector<Const> &args) {
  std::vector<Tensor> tensors;
  for (const Const &arg : args) collect(arg, &tensors);
  share(std::move(tensors));
  std::vector<rush_value> out;
  for (const Const &arg : args) out.push_back(make(arg));
  return out;
}

void RuntimeValues::share(std::vector<Tensor> tensors) {
  for (const Tensor &t : tensors) require_dense(t);
  std::sort(tensors.begin(), tensors.end(), [](const Tensor &a, const Tensor &b) {
    return std::make_pair(a.dtype(), a.bytes()) < std::make_pair(b.dtype(), b.bytes());
  });
  for (size_t i = 0; i < tensors.size();) {
    std::vector<Tensor> group{tensors[i]};
    const char *begin = tensors[i].bytes(), *end = begin + tensors[i].reach();
    for (i++; i < tensors.size(); i++) {
      const Tensor &t = tensors[i];
      const bool is_separate = t.dtype() != group[0].dtype() || t.bytes() >= end ||
                               t.storage()->data != group[0].storage()->data;
      if (is_separate && !t.is_same(group[0])) break;
      group.push_back(t);
      end = std::max(end, t.bytes() + t.reach());
    }
    begin -= lead(group[0], static_cast<size_t>(end - begin));
    share_group(group, begin, static_cast<size_t>(end - begin));
  }
}

void RuntimeValues::share_group(const std::vector<Tensor> &tensors, const char *begin,
                                size_t bytes) {
  const Tensor &first = tensors[0];
  const size_t item = first.itemsize();
  const bool compact = bytes == 0 || (tensors.size() == 1 &&
                                      is_sparse(bytes, item, static_cast<size_t>(first.numel())));
  const Tensor dense = compact ? first.contiguous() : first;
  const int64_t elements = compact ? first.numel() : static_cast<int64_t>(bytes / item);
  rush_value base = rush_none();
  void *data = nullptr;
  check(rush_tensor_create(session_, first.dtype(), 1, &elements, &base, &data));
  adopt(base);
  if (elements > 0)
    std::memcpy(data, compact ? dense.bytes() : begin, static_cast<size_t>(elements) * item);
  for (const Tensor &t : tensors) {
    const int64_t offset = compact ? 0 : (t.bytes() - begin) / static_cast<int64_t>(item);
    const Sizes strides = compact && t.numel() ? contiguous_strides(t.sizes()) : t.strides();
    rush_value v = rush_none();
    check(rush_tensor_view(session_, &base, static_cast<int>(t.dim()), t.sizes().data(),
                           strides.data(), offset, &v));
    shared_.push_back({t, adopt(v)});
  }
}

rush_value RuntimeValues::make(const Const &value) {
  rush_value v = rush_none();
  if (value.tensor.defined()) {
    const auto known = [&] {
      return std::find_if(shared_.begin(), shared_.end(),
                          [&](const Shared &s) { return s.tensor.is_same(value.tensor); });
    };
    if (known() == shared_.end()) share({value.tensor});
    return known()->value;
  }
  switch (value.kind) {
    case RUSH_CONST_NONE:
      return v;
    case RUSH_CONST_BOOL:
      return rush_bool(value.i != 0);
    case RUSH_CONST_INT:
      return rush_int(value.i);
    case RUSH_CONST_FLOAT:
      return rush_float(value.f);
    case RUSH_CONST_STR:
      check(rush_str_create(session_, value.s.data(), value.s.size(), &v));
      return adopt(v);
    case RUSH_CONST_COMPLEX:
      check(rush_complex_create(session_, value.f, value.im, &v));
      return adopt(v);
    case RUSH_CONST_LIST:
    case RUSH_CONST_TUPLE:
    case RUSH_CONST_DICT:
      return container(value);
    default:
      throw std::invalid_argument("a value of type " + to_string(*type_of(value)) +
                                  " cannot be passed to the runtime");
  }
}

rush_value RuntimeValues::container(const Const &value) {
  std::vector<rush_value> items;
  for (const Const &item : value.items) items.push_back(make(item));
  const auto create = value.is_list()                  ? rush_list_create
                      : value.kind == RUSH_CONST_TUPLE ? rush_tuple_create
                                                       : rush_dict_create;
  rush_value v = rush_none();
  check(create(session_, items.data(), items.size(), &v));
  return adopt(v);
}

// ---- Results

Const RuntimeValues::attributes(const rush_model *model) {
  std::vector<rush_value> items(rush_model_attribute_count(model), rush_none());
  rush_value all = rush_none();
  rush_status status = RUSH_OK;
  for (size_t i = 0; i < items.size() && status == RUSH_OK; i++)
    status = rush_session_get_attribute(session_, i, &items[i]);
  if (status == RUSH_OK) status = rush_tuple_create(session_, items.data(), items.size(), &all);
  for (rush_value &v : items) rush_value_release(session_, &v);
  check(status);
  return result(all);
}

Const RuntimeValues::result(rush_value value) {
  adopt(value);
  std::vector<Region> found;
  read_ = 0;
  find_regions(value, &found, 0);  // it refuses values without an end, so that read() ends
  join_regions(std::move(found));
  return read(value);
}

// Only tensors that share memory with one another need storages that are made for them.
void RuntimeValues::join_regions(std::vector<Region> found) {
  regions_.clear();
  std::sort(found.begin(), found.end(),
            [](const Region &a, const Region &b) { return a.begin < b.begin; });
  for (size_t i = 0; i < found.size();) {
    Region r = found[i];
    size_t n = 1;
    for (i++; i < found.size() && found[i].begin < r.end; i++, n++)
      r.end = std::max(r.end, found[i].end);
    if (n == 1) continue;
    r.storage = Tensor::copy_of(RUSH_UINT8, {r.end - r.begin}, r.begin).storage();
    regions_.push_back(std::move(r));
  }
}

void RuntimeValues::take_one(int depth) {
  if (depth > kDeepest)
    throw RuntimeError(RUSH_ERR_UNSUPPORTED, "the result is nested too deeply: more than " +
                                                 std::to_string(kDeepest) +
                                                 " lists, tuples or dicts in each other");
  if (++read_ > kMostValues)
    throw RuntimeError(RUSH_ERR_UNSUPPORTED,
                       "the result is too large for PyTorch: with its shared parts expanded, "
                       "it has more than 2^24 values");
}

void RuntimeValues::find_regions(const rush_value &value, std::vector<Region> *out, int depth) {
  take_one(depth);
  if (is_container(value)) {
    size_t n = 0;
    const rush_value *items = rush_items(&value, &n);
    for (size_t i = 0; i < n; i++) find_regions(items[i], out, depth + 1);
  }
  if (value.kind != RUSH_KIND_TENSOR) return;
  rush_tensor_info info;
  check(rush_tensor_inspect(session_, &value, &info));
  if (info.numel == 0) return;
  const char *begin = static_cast<const char *>(info.data);
  out->push_back({begin, begin + reach_of(info), nullptr});
}

Tensor RuntimeValues::read_tensor(const rush_value &value) {
  rush_tensor_info info;
  check(rush_tensor_inspect(session_, &value, &info));
  const auto dtype = static_cast<rush_dtype>(info.dtype);
  const Sizes sizes(info.sizes, info.sizes + info.rank),
      strides(info.strides, info.strides + info.rank);
  if (info.numel == 0) return {dtype, sizes, strides, 0, Tensor::zeros(dtype, {0}).storage()};
  const char *data = static_cast<const char *>(info.data);
  const size_t item = item_bytes(info), reach = reach_of(info);
  for (const Region &r : regions_) {
    const size_t offset = static_cast<size_t>(data - r.begin);
    if (data >= r.begin && data + reach <= r.end && offset % item == 0)
      return {dtype, sizes, strides, static_cast<int64_t>(offset / item), r.storage};
  }
  if (is_sparse(reach, item, static_cast<size_t>(info.numel))) {
    Storage borrowed{info.data, reach, nullptr, info.data};
    return Tensor(dtype, sizes, strides, 0, std::make_shared<const Storage>(borrowed)).clone();
  }
  const Tensor memory = Tensor::copy_of(dtype, {static_cast<int64_t>(reach / item)}, data);
  return {dtype, sizes, strides, 0, memory.storage()};
}

namespace {

// Returns the type of some of the items, or Any if they differ, and `none` if there are none.
TypeRef common(const std::vector<Const> &items, size_t first, size_t step, TypeRef none) {
  TypeRef out;
  for (size_t i = first; i < items.size(); i += step) {
    TypeRef type = type_of(items[i]);
    if (out && !equal(*out, *type)) return make_type(RUSH_TYPE_ANY);
    out = std::move(type);
  }
  return out ? out : none;
}

}  // namespace

Const RuntimeValues::read(const rush_value &value) {
  Const out;
  switch (value.kind) {
    case RUSH_KIND_NONE:
      return out;
    case RUSH_KIND_INT:
      return const_int(value.u.i);
    case RUSH_KIND_BOOL:
      return const_bool(value.u.i != 0);
    case RUSH_KIND_FLOAT:
      return const_float(value.u.f);
    case RUSH_KIND_TENSOR:
      return const_tensor(read_tensor(value));
    case RUSH_KIND_COMPLEX:
      out.kind = RUSH_CONST_COMPLEX;
      rush_complex_get(&value, &out.f, &out.im);
      return out;
    case RUSH_KIND_STR:
    case RUSH_KIND_DEVICE: {
      size_t n = 0;
      const char *bytes = rush_str_bytes(&value, &n);
      out = const_str(std::string(bytes, n));
      if (value.kind == RUSH_KIND_DEVICE) out.kind = RUSH_CONST_DEVICE;
      return out;
    }
    case RUSH_KIND_LIST:
    case RUSH_KIND_TUPLE:
    case RUSH_KIND_DICT:
      return read_items(value);
    default:
      throw std::invalid_argument("the model returned a value that has no type in PyTorch");
  }
}

Const RuntimeValues::read_items(const rush_value &value) {
  Const out;
  size_t n = 0;
  const rush_value *raw = rush_items(&value, &n);
  for (size_t i = 0; i < n; i++) out.items.push_back(read(raw[i]));
  if (value.kind == RUSH_KIND_LIST) {
    out.kind = RUSH_CONST_LIST;
    out.type = list_of(common(out.items, 0, 1, tensor_type()));
  } else if (value.kind == RUSH_KIND_TUPLE) {
    std::vector<TypeRef> types;
    for (const Const &item : out.items) types.push_back(type_of(item));
    out.kind = RUSH_CONST_TUPLE;
    out.type = make_type(RUSH_TYPE_TUPLE, std::move(types));
  } else {
    out.kind = RUSH_CONST_DICT;
    out.type = make_type(RUSH_TYPE_DICT, {common(out.items, 0, 2, make_type(RUSH_TYPE_STR)),
                                          common(out.items, 1, 2, tensor_type())});
  }
  return out;
}

}  // namespace rush
