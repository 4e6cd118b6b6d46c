"""Finds the compiled parts of the package. If there are none, CMake builds them on first use.

There are two: librushlight_native (exporter and runtime, which depend on no torch) and librushlight_torch (torch.classes.rushlight).
CMake and pip put them into the folder of the package. In a checkout without a build, this file makes one in the cache. XNNPACK is found
as in every build (cmake/xnnpack/README.md). The environment variables RUSH_XNNPACK_DIR and RUSH_XNNPACK_SOURCE set the options of the
same names.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

CLASS_LIBRARY = "librushlight_torch.so"
NATIVE_LIBRARY = "librushlight_native.so"
_HERE = pathlib.Path(__file__).resolve().parent


def class_library():
    """Returns the path of librushlight_torch, which is compiled if necessary."""
    found = _compiled_for_current_torch([CLASS_LIBRARY])
    if not found and not _is_checkout():
        raise RuntimeError("rushlight.lower needs a library that is compiled for one PyTorch, and this installation has none: run pip "
                           "install --no-build-isolation ./exporter/python in a checkout, with CMake and a C++ compiler")
    return str(found or _built("rushlight_torch", [f"lib/{CLASS_LIBRARY}"]))


def native_library():
    """Returns the path of librushlight_native, which is compiled if necessary."""
    found = next((folder / NATIVE_LIBRARY for folder in _folders() if (folder / NATIVE_LIBRARY).exists()), None)
    return str(found or _built("rushlight_native", [f"python/rushlight/{NATIVE_LIBRARY}"], torch=False))


def _built_for(path):
    """Returns the torch for which a file was compiled, as it states (exporter/torch/built_for.cpp)."""
    found = re.search(rb"rushlight was built for (torch [^,\0]+, C\+\+11 ABI [01])\0", pathlib.Path(path).read_bytes())
    return found[1].decode() if found else "a torch that it does not name"


def _current_torch():
    """This process's torch, in the same words."""
    import torch

    return f"torch {torch.__version__}, C++11 ABI {int(torch.compiled_with_cxx11_abi())}"


def _folders():
    """Returns the folders that may have compiled files: the package's, and that of CMake's build, which ./dev sets."""
    package = sys.modules.get(__package__)
    folders = [pathlib.Path(p) for p in getattr(package, "__path__", [_HERE])]
    if os.environ.get("RUSH_NATIVE"):  # CMake's build folder, set by ./dev
        folders.append(pathlib.Path(os.environ["RUSH_NATIVE"]) / "python" / "rushlight")
    return folders


def _compiled_for_current_torch(names):
    """Returns one of these files in the folders of the package, if it was compiled for this torch."""
    for path in (folder / name for folder in _folders() for name in names if (folder / name).exists()):
        if _built_for(path) == _current_torch():
            return path.resolve()
        print(f"rushlight: {path} was compiled for {_built_for(path)} and is left alone: here is {_current_torch()}", file=sys.stderr)
    return None


def _built(target, names, torch=True):
    """Returns one of these files of the cached build, with torch or without, after the target was brought up to date."""
    folder = _folder(torch)
    with _locked(folder):
        if not (folder / "CMakeCache.txt").exists():
            _configure(folder, torch)
        if not any((folder / name).exists() for name in names):
            print(f"rushlight: compiling {target} in {folder}, once", file=sys.stderr)
        _cmake("--build", folder, "--target", target, "--parallel", os.environ.get("MAX_JOBS") or str(os.cpu_count() or 1))
    return next(folder / name for name in names if (folder / name).exists())


def _is_checkout():
    return len(_HERE.parents) > 2 and (_HERE.parents[2] / "exporter" / "CMakeLists.txt").exists()


def _top():
    """Returns the checkout."""
    if not _is_checkout():
        raise RuntimeError(f"the installation of rushlight must have {NATIVE_LIBRARY}, which is missing: install the package again")
    return _HERE.parents[2]


def _folder(with_torch):
    """Returns the folder of the build, which with torch is for this Python and this torch alone."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    cache = pathlib.Path(os.environ.get("RUSH_CACHE") or os.path.join(home, "rushlight"))
    what = (_top(),)
    if with_torch:
        import torch

        what += sys.executable, sys.implementation.cache_tag, torch.__version__, torch.__file__
    return cache / "python" / f"build-{hashlib.sha256(repr(what).encode()).hexdigest()[:12]}"


@contextlib.contextmanager
def _locked(folder):
    """Only one process at a time runs the block."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _configure(folder, with_torch):
    settings = {"Python3_EXECUTABLE": sys.executable, "RUSH_TESTS": "OFF", "RUSH_WERROR": "OFF", "RUSH_TORCH": "OFF"}
    if with_torch:
        import torch.utils

        settings.update(CMAKE_PREFIX_PATH=torch.utils.cmake_prefix_path, RUSH_TORCH="ON")
    for name in ("RUSH_XNNPACK_DIR", "RUSH_XNNPACK_SOURCE"):
        if os.environ.get(name):
            settings[name] = os.path.abspath(os.environ[name])
    if shutil.which("ccache"):
        settings.update(CMAKE_C_COMPILER_LAUNCHER="ccache", CMAKE_CXX_COMPILER_LAUNCHER="ccache")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    try:
        _cmake(*generator, "-S", _top(), "-B", folder, *(f"-D{name}={value}" for name, value in settings.items()))
    except RuntimeError:
        (folder / "CMakeCache.txt").unlink(missing_ok=True)  # the next build starts anew
        raise


def _cmake(*arguments):
    if not shutil.which("cmake"):
        raise RuntimeError("rushlight is not compiled, and CMake, which would compile it, is not installed")
    done = subprocess.run(["cmake", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        errors = done.stderr.strip() or done.stdout.strip()  # CMake breaks lines, compilers' errors are in stdout
        raise RuntimeError(f"rushlight cannot be compiled here:\n{errors[-4000:]}")
