// my_ops::warp_perspective on the host: OpenCV's warpPerspective as an operator of PyTorch.
#include <torch/library.h>
#include <torch/types.h>

#include <opencv2/imgproc.hpp>

namespace {

// Shares the tensor's memory, copies nothing.
cv::Mat matrix(const torch::Tensor &t) {
  return cv::Mat(static_cast<int>(t.size(0)), static_cast<int>(t.size(1)), CV_32FC1,
                 t.data_ptr<float>());
}

// image: float32, rows by columns; warp: float32, 3 by 3, from the image to the output, which is 8
// by 8.
torch::Tensor warp_perspective(const torch::Tensor &image, const torch::Tensor &warp) {
  const torch::Tensor source = image.contiguous(), m = warp.contiguous();
  torch::Tensor output = torch::empty({8, 8});
  cv::Mat to = matrix(output);
  cv::warpPerspective(matrix(source), to, matrix(m), to.size());
  return output;
}

}  // namespace

TORCH_LIBRARY(my_ops, m) {
#ifdef INFER_SCHEMA
  m.def("warp_perspective",
        &warp_perspective);  // PyTorch reads the signature; the arguments are called _0 and _1
#else
  m.def("warp_perspective(Tensor image, Tensor warp) -> Tensor", &warp_perspective);
#endif
}
