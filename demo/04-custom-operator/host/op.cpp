// my_ops::warp_perspective on the host: OpenCV's warpPerspective as an operator of PyTorch.
#include <torch/library.h>
#include <torch/types.h>

#include <opencv2/imgproc.hpp>

namespace {

// Returns a matrix that shares the tensor's memory.
cv::Mat matrix(const torch::Tensor &t) {
  return cv::Mat(static_cast<int>(t.size(0)), static_cast<int>(t.size(1)), CV_32FC1,
                 t.data_ptr<float>());
}

// image is float32 [rows, columns]. warp is float32 [3, 3], and maps the image to the output, which
// is 8 by 8.
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
        &warp_perspective);  // the inferred schema has arguments _0 and _1
#else
  m.def("warp_perspective(Tensor image, Tensor warp) -> Tensor", &warp_perspective);
#endif
}
