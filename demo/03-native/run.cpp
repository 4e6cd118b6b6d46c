// run_cpp MODEL.rush NUMBER..: does the same as run.c, with owners that release automatically.
#include <rushlight/rushlight.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

struct Destroy {
  rush_ctx *ctx = nullptr;
  void operator()(rush_ctx *c) const { rush_ctx_destroy(c); }
  void operator()(rush_model *m) const { rush_model_destroy(ctx, m); }
  void operator()(rush_session *s) const { rush_session_destroy(s); }
};

class Model {
 public:
  explicit Model(const std::vector<char> &bytes) {
    rush_ctx *ctx;
    if (rush_ctx_create(nullptr, nullptr, &ctx) != RUSH_OK) throw std::bad_alloc();
    ctx_.reset(ctx);
    rush_model *model;
    check(rush_model_load(ctx, bytes.data(), bytes.size(), &model));
    model_ = {model, Destroy{ctx}};
    rush_session *session;
    check(rush_session_create(ctx, model, &session));
    session_.reset(session);
  }

  // Takes one float32[1, n] and returns the outputs' elements.
  std::vector<std::vector<float>> operator()(const std::vector<float> &input) {
    const int64_t sizes[] = {1, static_cast<int64_t>(input.size())};
    rush_value x, y;
    void *data;
    check(rush_tensor_create(session_.get(), RUSH_FLOAT32, 2, sizes, &x, &data));
    std::copy(input.begin(), input.end(), static_cast<float *>(data));
    const rush_status status = rush_session_run(session_.get(), 0, &x, 1, &y);
    rush_value_release(session_.get(), &x);
    check(status);
    size_t n = 1;
    const rush_value *items = y.kind == RUSH_KIND_TUPLE ? rush_items(&y, &n) : &y;
    std::vector<std::vector<float>> out;
    for (size_t i = 0; i < n; i++) out.push_back(elements(items[i]));
    rush_value_release(session_.get(), &y);
    return out;
  }

  const char *output_name(size_t i) const { return rush_model_output_name(model_.get(), 0, i); }

 private:
  void check(rush_status status) const {
    if (status != RUSH_OK) throw std::runtime_error(rush_ctx_error(ctx_.get()));
  }

  std::vector<float> elements(rush_value tensor) const {
    rush_value_retain(session_.get(), &tensor);
    rush_tensor_info info;
    check(rush_tensor_make_contiguous(session_.get(), &tensor));
    check(rush_tensor_inspect(session_.get(), &tensor, &info));
    const float *data = static_cast<const float *>(info.data);
    std::vector<float> out(data, data + info.numel);
    rush_value_release(session_.get(), &tensor);
    return out;
  }

  std::unique_ptr<rush_ctx, Destroy> ctx_;
  std::unique_ptr<rush_model, Destroy> model_;
  std::unique_ptr<rush_session, Destroy> session_;
};

int main(int argc, char **argv) try {
  if (argc < 3) return std::fprintf(stderr, "usage: run_cpp MODEL.rush NUMBER..\n"), 2;
  std::ifstream file(argv[1], std::ios::binary);
  if (!file) throw std::runtime_error(std::string(argv[1]) + " cannot be read");
  Model model({std::istreambuf_iterator<char>(file), {}});
  std::vector<float> input;
  for (int i = 2; i < argc; i++) input.push_back(std::strtof(argv[i], nullptr));
  const auto outputs = model(input);
  for (size_t i = 0; i < outputs.size(); i++) {
    std::printf("%s:", model.output_name(i));
    for (float x : outputs[i]) std::printf(" %.6f", static_cast<double>(x));
    std::printf("\n");
  }
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
