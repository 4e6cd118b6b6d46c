// Tensors of constants: a dtype, sizes and strides over bytes that views share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace rush {

// Bytes, and the object that owns them. Tensors share memory if their storages have the same `id`.
struct Storage {
  void *data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner;
  const void *id = nullptr;
};

// Why a tensor of PyTorch has no strided bytes here, which only some operations accept.
struct Foreign {
  std::string form;        // "sparse", "quantized", "nested", "mkldnn"; "" for a strided one
  std::string device;      // "cuda:0"; "" for the CPU
  bool no_memory = false;  // as a tensor of a subclass
  int64_t number = 0;      // Python's of the tensor
};

using Sizes = std::vector<int64_t>;

// A handle, which is cheap to copy. Nothing writes the elements after a tensor is made.
class Tensor {
 public:
  Tensor() = default;
  // A view of a storage. `offset` and `strides` count elements.
  Tensor(rush_dtype dtype, Sizes sizes, Sizes strides, int64_t offset,
         std::shared_ptr<const Storage> storage);
  // A tensor without bytes.
  Tensor(rush_dtype dtype, Sizes sizes, Foreign foreign);

  // New contiguous tensors. The values are converted as PyTorch converts them.
  static Tensor zeros(rush_dtype dtype, const Sizes &sizes);
  static Tensor of(rush_dtype dtype, const Sizes &sizes, const std::vector<double> &values);
  static Tensor of(rush_dtype dtype, const Sizes &sizes, const std::vector<int64_t> &values);
  static Tensor of(rush_dtype dtype, const Sizes &sizes, const std::vector<float> &values);
  static Tensor copy_of(rush_dtype dtype, const Sizes &sizes, const void *bytes);

  bool defined() const { return data_ != nullptr; }
  bool is_same(const Tensor &other) const { return data_ == other.data_; }
  // Returns whether it has elements here.
  bool is_strided() const { return defined() && data_->storage; }
  const Foreign &foreign() const { return data_->foreign; }

  rush_dtype dtype() const { return data_->dtype; }
  bool is_floating_point() const { return rush::is_floating_point(dtype()); }
  bool is_complex() const { return rush::is_complex(dtype()); }
  bool is_quantized() const { return rush::is_quantized(dtype()); }
  int64_t dim() const { return static_cast<int64_t>(sizes().size()); }
  const Sizes &sizes() const { return data_->sizes; }
  const Sizes &strides() const { return data_->strides; }
  int64_t size(int64_t d) const { return sizes().at(place(d)); }
  int64_t stride(int64_t d) const { return strides().at(place(d)); }
  int64_t numel() const;
  int64_t storage_offset() const { return data_->offset; }
  const std::shared_ptr<const Storage> &storage() const { return data_->storage; }
  const void *storage_id() const { return data_->storage ? data_->storage->id : nullptr; }
  size_t itemsize() const { return dtype_bytes(dtype()); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
  const char *bytes() const;   // of the first element
  size_t reach() const;        // the bytes from the first element to the end of the last one
  bool is_contiguous() const;  // row-major, without gaps

  // Views.
  Tensor narrow(int64_t d, int64_t start, int64_t length) const;
  Tensor select(int64_t d, int64_t index) const;
  Tensor moved(int64_t from, int64_t to) const;  // torch.movedim
  Tensor t() const { return dim() < 2 ? *this : moved(0, 1); }
  Tensor expand(const Sizes &sizes) const;

  // Itself or a copy.
  Tensor contiguous() const;
  Tensor reshape(const Sizes &sizes) const;  // no size is -1
  Tensor to(rush_dtype dtype) const;         // with the strides that PyTorch gives a conversion
  // Returns the same values with the order of another tensor's strides.
  Tensor laid_out_as(const Tensor &other) const;
  // Writes the elements of another tensor into this one, whose memory must be new.
  void fill_from(const Tensor &from) const;
  Tensor clone() const;  // of all bytes, contiguous

  // Returns the elements, row-major. Complex ones are two numbers in doubles().
  std::vector<double> doubles() const;
  std::vector<int64_t> ints() const;
  std::vector<float> floats() const;
  double item() const { return doubles().at(0); }  // of the first element
  bool all_finite() const;
  // Returns whether dtype, sizes and values are equal. NaN differs from NaN.
  bool equal(const Tensor &other) const;

 private:
  struct Data {
    rush_dtype dtype;
    Sizes sizes, strides;
    int64_t offset = 0;
    std::shared_ptr<const Storage> storage;
    Foreign foreign;
  };
  size_t place(int64_t d) const { return static_cast<size_t>(d < 0 ? d + dim() : d); }
  Tensor view(Sizes sizes, Sizes strides, int64_t offset) const;
  template <class Number>
  std::vector<Number> elements() const;

  std::shared_ptr<const Data> data_;
};

// Strides without gaps in the order of these: themselves if they have none.
Sizes dense_strides(const Sizes &sizes, const Sizes &strides);
// Strides of a row-major tensor.
Sizes contiguous_strides(const Sizes &sizes);
int64_t product(const Sizes &sizes);

}  // namespace rush
