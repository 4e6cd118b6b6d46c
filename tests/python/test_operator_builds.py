"""Builds the operator of demo/04-custom-operator for PyTorch in three ways, and for programs with the native runtime."""

import ctypes.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch
import torch.utils.cpp_extension

TOP = pathlib.Path(__file__).resolve().parents[2]
DEMO = TOP / "demo" / "04-custom-operator"
HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path.insert(0, str(DEMO))
import build  # noqa: E402

pytestmark = [
    pytest.mark.skipif(ctypes.util.find_library("opencv_imgproc") is None, reason="there is no OpenCV: libopencv-dev"),
    pytest.mark.skipif(torch.version.cuda is not None and shutil.which("nvcc") is None,
                       reason="there is no CUDA toolkit for find_package(Torch)"),
]
OPENCV = {"include": "/usr/include/opencv4", "libraries": ["opencv_core", "opencv_imgproc"]}
# The second time a test compiles, ccache remembers.
OWN = torch.__version__ < (2, 7) and shutil.which("ccache")  # newer ones find ccache themselves
CCACHE = {"CXX": "ccache c++", "TORCH_DONT_CHECK_COMPILER_ABI": "1"} if OWN else {}
# Tests the operator in eager mode, then the files of a trace and of a script.
USE = """
import sys
sys.path.insert(0, {demo!r})
import models, rushlight
image, warp, mix = models.example()
assert torch.equal(torch.ops.my_ops.warp_perspective(image, torch.eye(3)), image)
print(torch.ops.my_ops.warp_perspective.default._schema)
trace, script = torch.jit.trace(models.trace, (image, warp, mix)), torch.jit.script(models.script)
torch.testing.assert_close(trace(image, warp, mix), models.trace(image, warp, mix))
for name, model in ("trace", trace), ("script", script):
    model.save(name + ".pt")
    rushlight.export(model, (image, warp, mix), name + ".rush", allow_missing=True)
""".format(demo=str(DEMO))


@pytest.fixture(scope="module")
def host():
    return build.host()


def python(code, cwd):
    head = f"import sys\nsys.path.append({str(TESTS)!r})\nimport reference, torch\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, cwd=cwd, env={**os.environ, **CCACHE})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["warp_perspective", "warp_perspective_inferred"])
def files(request, host, tmp_path_factory):
    """(folder of trace and script, .pt and .rush; the schema): written out, and inferred from the C++ signature."""
    folder = tmp_path_factory.mktemp(request.param)
    schema = python(f"torch.ops.load_library({str(host / f'lib{request.param}.so')!r})\n{USE}", folder)
    return folder, schema.strip()


@pytest.mark.feature("Operators", "warp_perspective (OpenCV) built by CMake: eager, traced, scripted")
def test_cmake_builds_it(files):
    folder, schema = files
    names = ("_0", "_1") if "inferred" in folder.name else ("image", "warp")
    assert schema.startswith("my_ops::warp_perspective(Tensor {}, Tensor {}) -> Tensor".format(*names))
    assert schema.split("(")[0].encode() in (folder / "trace.rush").read_bytes()


@pytest.mark.feature("Operators", "warp_perspective in C, linked into a native program or added at run time")
def test_programs_with_the_native_runtime_agree_with_opencv(files):
    folder, _ = files
    programs = build.native()
    for name in ("trace", "script"):
        file = folder / f"{name}.rush"
        for command in ([programs / "run_linked", file], [programs / "run_added", file, "--add"]):
            lines = build.call(*command).splitlines()
            assert lines and all(float(line.split("max abs ")[1]) < 1e-5 for line in lines)
        lacking = subprocess.run([programs / "run_added", file], capture_output=True, text=True)
        assert lacking.returncode == 1
        assert lacking.stderr.startswith("unsupported: the model needs 1 operator that this runtime lacks: my_ops::warp_perspective\n")
        for way in ("load(url, { ops:", "rush_ctx_add_op", "rushlight_add_operators", "rushlight.register_decomposition"):
            assert way in lacking.stderr
        twice = subprocess.run([programs / "run_linked", file, "--add"], capture_output=True, text=True)
        assert twice.returncode == 1 and "operator 'my_ops::warp_perspective' exists already" in twice.stderr


@pytest.mark.feature("Operators", "the command line with --load-library")
def test_the_command_line_loads_the_library(host, files, tmp_path):
    folder, _ = files
    library = host / f"lib{folder.name.rstrip('0123456789')}.so"
    inputs = ["--input", "8x8", "--input", "3x3", "--input", "8x8"]
    command = ["rushlight", "export", folder / "script.pt", "-o", tmp_path / "m.rush", *inputs, "--allow-missing"]
    refused = subprocess.run(command, capture_output=True, text=True)
    assert refused.returncode == 1
    assert refused.stderr.endswith("script.pt uses the operator my_ops::warp_perspective, which this torch does not have: load the "
                                   "library that registers it, by --load-library or, in Python, torch.ops.load_library\n")
    assert "my_ops::warp_perspective" in build.call(*command, "--load-library", library)


@pytest.mark.feature("Operators", "a second library with the same operators", pytorch="refuses", rushlight="refuses")
def test_pytorch_refuses_the_same_namespace_twice(host, tmp_path):
    """The library throws from a static constructor, which ends the process."""
    libraries = [str(host / f"lib{name}.so") for name in ("warp_perspective", "warp_perspective_inferred")]
    code = f"import torch\nfor path in {libraries}: torch.ops.load_library(path)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode != 0
    assert "Only a single TORCH_LIBRARY can be used to register the namespace my_ops" in done.stderr


@pytest.mark.feature("Operators", "a library that the linker drops", pytorch="refuses", rushlight="refuses")
@pytest.mark.parametrize("files", ["warp_perspective"], indirect=True)
def test_a_linker_drops_a_library_of_which_no_symbol_is_used(host, files, tmp_path):
    folder, _ = files
    app = build.cmake(HERE / "operator_app", build.BUILD / "app", f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}",
                      f"-DWARP={host / 'libwarp_perspective.so'}")
    dropped = subprocess.run([app / "app-as-needed", folder / "trace.pt"], capture_output=True, text=True)
    assert dropped.returncode == 1 and "Unknown builtin op: my_ops::warp_perspective" in dropped.stderr
    assert build.call(app / "app-no-as-needed", folder / "trace.pt") == "64.0000\n"


@pytest.mark.feature("Operators", "built by cpp_extension.load and load_inline, is_python_module=False")
@pytest.mark.parametrize("how", ["load", "load_inline"])
def test_cpp_extension_builds_it(how, tmp_path):
    folder = build.BUILD / how  # it compiles what changed
    folder.mkdir(parents=True, exist_ok=True)
    source = f"sources=[{str(DEMO / 'host' / 'op.cpp')!r}]" if how == "load" else f"cpp_sources=open({str(DEMO / 'host' / 'op.cpp')!r}).read()"
    python(f"""
import torch.utils.cpp_extension
torch.utils.cpp_extension.{how}(name="warp_{how}", {source}, extra_include_paths=[{OPENCV['include']!r}], is_python_module=False,
    extra_cflags=["-O0"], extra_ldflags=["-lopencv_core", "-lopencv_imgproc"], build_directory={str(folder)!r})
{USE}""", tmp_path)


@pytest.mark.feature("Operators", "built by setuptools")
def test_setuptools_builds_it(tmp_path):
    folder = build.BUILD / "setuptools"  # it compiles what changed
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "setup.py").write_text(f"""
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(name="warp_perspective",
      ext_modules=[CppExtension("warp_perspective", [{str(DEMO / 'host' / 'op.cpp')!r}], libraries={OPENCV['libraries']},
                                include_dirs=[{OPENCV['include']!r}], extra_compile_args=["-O0"])],
      cmdclass={{"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)}})
""")
    done = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], capture_output=True, text=True, cwd=folder,
                          env={**os.environ, **CCACHE})
    assert done.returncode == 0, done.stdout + done.stderr
    python(f"torch.ops.load_library({str(folder / 'warp_perspective.so')!r})\n{USE}", tmp_path)


@pytest.mark.feature("Operators", "a C++ signature with float or int", pytorch="refuses", rushlight="refuses")
def test_pytorch_refuses_narrow_types_in_a_signature(tmp_path):
    source = tmp_path / "op.cpp"
    source.write_text("""#include <torch/library.h>
at::Tensor by_float(const at::Tensor &x, float) { return x; }
at::Tensor by_int(const at::Tensor &x, int) { return x; }
TORCH_LIBRARY(my_ops, m) {
  m.def("by_float", &by_float);
  m.def("by_int", &by_int);
}
""")
    include = [f"-I{path}" for path in torch.utils.cpp_extension.include_paths()]
    done = subprocess.run(["c++", "-std=c++17", "-fsyntax-only", *include, source], capture_output=True, text=True)
    assert done.returncode != 0
    assert "Please use double instead" in done.stderr and "Please use int64_t instead" in done.stderr
