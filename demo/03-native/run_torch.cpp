// run_torch MODEL.pt NUMBER..: runs a TorchScript file with a lowered part in a program with
// libtorch. The program only links Rushlight::torch, and torch::jit::load then knows the class.
#include <torch/script.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) try {
  if (argc < 3) return std::fprintf(stderr, "usage: run_torch MODEL.pt NUMBER..\n"), 2;
  torch::NoGradGuard inference_only;
  torch::jit::Module model = torch::jit::load(argv[1]);
  torch::Tensor x = torch::empty({1, argc - 2});
  for (int i = 2; i < argc; i++) x[0][i - 2] = std::strtof(argv[i], nullptr);
  const torch::IValue result = model.forward({x});
  for (const torch::IValue &item : result.toTupleRef().elements()) {
    const torch::Tensor t = item.toTensor().contiguous();
    for (int64_t i = 0; i < t.numel(); i++)
      std::printf(i ? " %.6f" : "%.6f", static_cast<double>(t.data_ptr<float>()[i]));
    std::printf("\n");
  }
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
