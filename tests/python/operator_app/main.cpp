// app MODEL.pt: a TorchScript model on a picture, a perspective and a matrix of ones; prints the
// sum.
#include <ATen/Functions.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdio>

int main(int, char **argv) try {
  torch::jit::Module model = torch::jit::load(argv[1]);
  std::printf(
      "%.4f\n",
      model.forward({at::ones({8, 8}), at::eye(3), at::eye(8)}).toTensor().sum().item<double>());
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
