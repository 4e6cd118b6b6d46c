#include "ir/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace rush {

namespace {

std::shared_ptr<const Storage> new_storage(size_t bytes) {
  const std::shared_ptr<void> memory(std::calloc(std::max<size_t>(bytes, 1), 1), std::free);
  if (!memory) throw std::bad_alloc();
  Storage storage{memory.get(), bytes, memory, memory.get()};
  return std::make_shared<const Storage>(std::move(storage));
}

// The addresses of a tensor's elements, row-major.
class Walk {
 public:
  explicit Walk(const Tensor &t)
      : t_(t),
        item_(static_cast<int64_t>(t.itemsize())),
        at_(t.bytes()),
        index_(t.sizes().size(), 0) {}

  const char *next() {
    const char *at = at_;
    for (size_t d = index_.size(); d-- > 0;) {
      at_ += t_.strides()[d] * item_;
      if (++index_[d] < t_.sizes()[d]) break;
      at_ -= index_[d] * t_.strides()[d] * item_;
      index_[d] = 0;
    }
    return at;
  }

 private:
  const Tensor &t_;
  const int64_t item_;
  const char *at_;
  Sizes index_;
};

// Calls f with the address of each element, row-major.
template <class F>
void each_element(const Tensor &t, F f) {
  Walk walk(t);
  for (int64_t n = t.numel(); n > 0; n--) f(walk.next());
}

// Returns a new tensor with the order of another one's strides.
Tensor empty_like(rush_dtype dtype, const Tensor &t) {
  const Tensor memory = Tensor::zeros(dtype, t.sizes());
  return {dtype, t.sizes(), dense_strides(t.sizes(), t.strides()), 0, memory.storage()};
}

template <class T>
T read(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T, class F>
void each_part(const char *at, F f) {
  f(read<T>(at));
  f(read<T>(at + sizeof(T)));
}

// Calls f with the number at `at`, or with the parts of a complex one.
template <class F>
void each_number(rush_dtype dtype, const char *at, F f) {
  switch (static_cast<int>(dtype)) {
    case RUSH_UINT8:
    case RUSH_BOOL:
      return f(read<uint8_t>(at));
    case RUSH_INT8:
      return f(read<int8_t>(at));
    case RUSH_INT16:
      return f(read<int16_t>(at));
    case RUSH_INT32:
      return f(read<int32_t>(at));
    case RUSH_INT64:
      return f(read<int64_t>(at));
    case 27:
      return f(read<uint16_t>(at));
    case 28:
      return f(read<uint32_t>(at));
    case 29:
      return f(read<uint64_t>(at));
    case RUSH_FLOAT16:
      return f(from_half_bits(read<uint16_t>(at)));
    case RUSH_BFLOAT16:
      return f(from_bfloat_bits(read<uint16_t>(at)));
    case RUSH_FLOAT32:
      return f(read<float>(at));
    case RUSH_FLOAT64:
      return f(read<double>(at));
    case 8:
      f(from_half_bits(read<uint16_t>(at)));
      return f(from_half_bits(read<uint16_t>(at + 2)));
    case RUSH_COMPLEX64:
      return each_part<float>(at, f);
    case RUSH_COMPLEX128:
      return each_part<double>(at, f);
    default:
      throw std::invalid_argument("elements of dtype " + std::string(dtype_name(dtype)) +
                                  " cannot be read as numbers");
  }
}

template <class T, class From>
void put(char *at, From value) {
  const T converted = static_cast<T>(value);
  std::memcpy(at, &converted, sizeof converted);
}

// Small integers wrap around, as after a conversion to int64.
template <class T, class From>
void put_small(char *at, From value) {
  put<T>(at, static_cast<int64_t>(value));
}

// Writes a real number.
template <class From>
void write(rush_dtype dtype, char *at, From value) {
  switch (static_cast<int>(dtype)) {
    case RUSH_UINT8:
      return put_small<uint8_t>(at, value);
    case RUSH_BOOL:
      return put<uint8_t>(at, value != 0);
    case RUSH_INT8:
      return put_small<int8_t>(at, value);
    case RUSH_INT16:
      return put_small<int16_t>(at, value);
    case RUSH_INT32:
      return put_small<int32_t>(at, value);
    case RUSH_INT64:
      return put<int64_t>(at, value);
    case 27:
      return put_small<uint16_t>(at, value);
    case 28:
      return put_small<uint32_t>(at, value);
    case 29:
      return put<uint64_t>(at, value);
    case RUSH_FLOAT16:
      return put<uint16_t>(at, half_bits(static_cast<float>(value)));
    case RUSH_BFLOAT16:
      return put<uint16_t>(at, bfloat_bits(static_cast<float>(value)));
    case RUSH_FLOAT32:
      return put<float>(at, value);
    case RUSH_FLOAT64:
      return put<double>(at, value);
    default:
      break;
  }
  const rush_dtype part = real_dtype(dtype);
  if (part == dtype)
    throw std::invalid_argument("a tensor of dtype " + std::string(dtype_name(dtype)) +
                                " cannot be made of numbers");
  write(part, at, value);
  write(part, at + dtype_bytes(part), 0);
}

template <class Number>
Tensor made_of(rush_dtype dtype, const Sizes &sizes, const std::vector<Number> &values) {
  const Tensor out = Tensor::zeros(dtype, sizes);
  if (values.size() != static_cast<size_t>(out.numel()))
    throw std::logic_error("a tensor must have an element for each number, got sizes for " +
                           std::to_string(out.numel()));
  char *at = static_cast<char *>(out.storage()->data);
  for (const Number value : values) {
    write(dtype, at, value);
    at += out.itemsize();
  }
  return out;
}

}  // namespace

int64_t product(const Sizes &sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return n;
}

Sizes contiguous_strides(const Sizes &sizes) {
  Sizes out(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    out[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return out;
}

Sizes dense_strides(const Sizes &sizes, const Sizes &strides) {
  std::vector<size_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); d++) order[d] = order.size() - 1 - d;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  Sizes out(sizes.size());
  int64_t stride = 1;
  bool dense = true;
  for (const size_t d : order) {
    out[d] = stride;
    dense &= sizes[d] == 1 || strides[d] == stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return dense ? strides : out;
}

// ---- Making

Tensor::Tensor(rush_dtype dtype, Sizes sizes, Sizes strides, int64_t offset,
               std::shared_ptr<const Storage> storage)
    : data_(std::make_shared<const Data>(
          Data{dtype, std::move(sizes), std::move(strides), offset, std::move(storage), {}})) {}

Tensor::Tensor(rush_dtype dtype, Sizes sizes, Foreign foreign) {
  Sizes strides = contiguous_strides(sizes);
  data_ = std::make_shared<const Data>(
      Data{dtype, std::move(sizes), std::move(strides), 0, nullptr, std::move(foreign)});
}

Tensor Tensor::zeros(rush_dtype dtype, const Sizes &sizes) {
  const size_t bytes = static_cast<size_t>(product(sizes)) * dtype_bytes(dtype);
  return {dtype, sizes, contiguous_strides(sizes), 0, new_storage(bytes)};
}

Tensor Tensor::of(rush_dtype dtype, const Sizes &sizes, const std::vector<double> &values) {
  return made_of(dtype, sizes, values);
}

Tensor Tensor::of(rush_dtype dtype, const Sizes &sizes, const std::vector<int64_t> &values) {
  return made_of(dtype, sizes, values);
}

Tensor Tensor::of(rush_dtype dtype, const Sizes &sizes, const std::vector<float> &values) {
  return made_of(dtype, sizes, values);
}

Tensor Tensor::copy_of(rush_dtype dtype, const Sizes &sizes, const void *bytes) {
  Tensor out = zeros(dtype, sizes);
  if (out.nbytes()) std::memcpy(out.storage()->data, bytes, out.nbytes());
  return out;
}

// ---- Layout

int64_t Tensor::numel() const {
  return product(sizes());
}

const char *Tensor::bytes() const {
  if (!is_strided())
    throw std::invalid_argument("a tensor that is " +
                                (foreign().form.empty() ? "not on the CPU" : foreign().form) +
                                " has no elements to read");
  return static_cast<const char *>(storage()->data) +
         storage_offset() * static_cast<int64_t>(itemsize());
}

size_t Tensor::reach() const {
  if (numel() == 0) return 0;
  int64_t last = 0;
  for (size_t d = 0; d < sizes().size(); d++) last += (sizes()[d] - 1) * strides()[d];
  return static_cast<size_t>(last + 1) * itemsize();
}

bool Tensor::is_contiguous() const {
  if (numel() == 0) return true;
  int64_t stride = 1;
  for (size_t d = sizes().size(); d-- > 0;) {
    if (sizes()[d] == 1) continue;
    if (strides()[d] != stride) return false;
    stride *= sizes()[d];
  }
  return true;
}

// ---- Views

Tensor Tensor::view(Sizes sizes, Sizes strides, int64_t offset) const {
  return {dtype(), std::move(sizes), std::move(strides), offset, storage()};
}

Tensor Tensor::narrow(int64_t d, int64_t start, int64_t length) const {
  Sizes to = sizes();
  to.at(place(d)) = length;
  return view(std::move(to), strides(), storage_offset() + start * stride(d));
}

Tensor Tensor::select(int64_t d, int64_t index) const {
  Sizes to = sizes(), by = strides();
  to.erase(to.begin() + static_cast<std::ptrdiff_t>(place(d)));
  by.erase(by.begin() + static_cast<std::ptrdiff_t>(place(d)));
  return view(std::move(to), std::move(by), storage_offset() + index * stride(d));
}

Tensor Tensor::moved(int64_t from, int64_t to) const {
  Sizes sizes_ = sizes(), strides_ = strides();
  for (Sizes *values : {&sizes_, &strides_}) {
    const int64_t one = values->at(place(from));
    values->erase(values->begin() + static_cast<std::ptrdiff_t>(place(from)));
    values->insert(values->begin() + static_cast<std::ptrdiff_t>(place(to)), one);
  }
  return view(std::move(sizes_), std::move(strides_), storage_offset());
}

Tensor Tensor::expand(const Sizes &to) const {
  Sizes by = strides();
  for (size_t d = 0; d < to.size(); d++)
    if (sizes()[d] != to[d]) by[d] = 0;
  return view(to, std::move(by), storage_offset());
}

Tensor Tensor::contiguous() const {
  return is_contiguous() ? *this : clone();
}

Tensor Tensor::reshape(const Sizes &to) const {
  const Tensor from = contiguous();
  return from.view(to, contiguous_strides(to), from.storage_offset());
}

Tensor Tensor::clone() const {
  const Tensor out = zeros(dtype(), sizes());
  char *to = static_cast<char *>(out.storage()->data);
  const size_t item = itemsize();
  if (is_contiguous()) {
    if (nbytes()) std::memcpy(to, bytes(), nbytes());
    return out;
  }
  each_element(*this, [&](const char *at) {
    std::memcpy(to, at, item);
    to += item;
  });
  return out;
}

// ---- Values

template <class Number>
std::vector<Number> Tensor::elements() const {
  std::vector<Number> out;
  out.reserve(static_cast<size_t>(numel()));
  const rush_dtype of = dtype();
  each_element(*this, [&](const char *at) {
    each_number(of, at, [&](auto value) { out.push_back(static_cast<Number>(value)); });
  });
  return out;
}

std::vector<double> Tensor::doubles() const {
  return elements<double>();
}

std::vector<int64_t> Tensor::ints() const {
  return elements<int64_t>();
}

std::vector<float> Tensor::floats() const {
  return elements<float>();
}

Tensor Tensor::to(rush_dtype to) const {
  if (to == dtype()) return *this;
  const Tensor out = empty_like(to, *this);
  Walk places(out);
  const rush_dtype from = dtype();
  const size_t part = dtype_bytes(real_dtype(to));
  each_element(*this, [&](const char *element) {
    char *at = const_cast<char *>(places.next());
    size_t parts = 0;
    each_number(from, element, [&](auto value) {
      if (parts == 0)
        write(to, at, value);
      else if (rush::is_complex(to))
        write(real_dtype(to), at + part, value);
      parts++;
    });
  });
  return out;
}

void Tensor::fill_from(const Tensor &from) const {
  Walk places(*this);
  const size_t item = itemsize();
  each_element(from,
               [&](const char *at) { std::memcpy(const_cast<char *>(places.next()), at, item); });
}

Tensor Tensor::laid_out_as(const Tensor &other) const {
  const Tensor out = empty_like(dtype(), other);
  out.fill_from(*this);
  return out;
}

bool Tensor::all_finite() const {
  if (!is_floating_point() && !is_complex()) return true;
  bool finite = true;
  const rush_dtype of = dtype();
  each_element(*this, [&](const char *at) {
    each_number(of, at,
                [&](auto value) { finite = finite && std::isfinite(static_cast<double>(value)); });
  });
  return finite;
}

bool Tensor::equal(const Tensor &other) const {
  if (dtype() != other.dtype() || sizes() != other.sizes()) return false;
  if (is_floating_point() || is_complex()) return doubles() == other.doubles();
  return ints() == other.ints();
}

}  // namespace rush
