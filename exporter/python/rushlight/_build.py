"""Where the compiled parts are; where there are none, they are compiled here, on first use and once.

Two of them: the module _C (exporter and runtime) and librushlight_torch (torch.classes.rushlight). What
CMake or pip built stands in the package's folder and is taken from there. Otherwise, with this checkout
around us, the runtime is compiled as C into an archive, and torch.utils.cpp_extension.load links that.

XNNPACK comes compiled from RUSH_XNNPACK_DIR, or from the cache that ./dev made, or is compiled from
RUSH_XNNPACK_SOURCE (cmake/xnnpack/README.md).
"""

import concurrent.futures
import glob
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CLASS_LIBRARY = "librushlight_torch.so"
_HERE = pathlib.Path(__file__).resolve().parent


def _folders():
    package = sys.modules.get(__package__)
    folders = [pathlib.Path(p) for p in getattr(package, "__path__", [_HERE])]
    if os.environ.get("RUSH_NATIVE"):  # CMake's build folder, set by ./dev
        folders.append(pathlib.Path(os.environ["RUSH_NATIVE"]) / "python" / "rushlight")
    return folders


def class_library():
    """The path of librushlight_torch, compiled if need be."""
    for folder in _folders():
        if (folder / CLASS_LIBRARY).exists():
            return str((folder / CLASS_LIBRARY).resolve())
    return str(build_class())


def extension_path():
    """The path of the module _C, compiled if need be."""
    from importlib.machinery import EXTENSION_SUFFIXES

    for folder in _folders():
        for suffix in EXTENSION_SUFFIXES:
            if (folder / f"_C{suffix}").exists():
                return str(folder / f"_C{suffix}")
    return str(build_extension())


# ---- Compiling


def top():
    """The checkout."""
    found = _HERE.parents[2]
    if not (found / "wasm" / "src" / "ops" / "ops.def").exists():
        raise RuntimeError("rushlight is not compiled, and its sources are not here: build it with ./dev build, with "
                           "CMake, or with pip install --no-build-isolation ./exporter/python")
    return found


def _cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(os.environ.get("RUSH_CACHE") or os.path.join(home, "rushlight"))


def _xnnpack():
    """The folder of a compiled XNNPACK."""
    given = os.environ.get("RUSH_XNNPACK_DIR")
    if given:
        if not os.path.exists(os.path.join(given, "lib", "libxnnpack.a")):
            raise RuntimeError(f"there is no lib/libxnnpack.a in RUSH_XNNPACK_DIR={given}")
        return pathlib.Path(given)
    source = os.environ.get("RUSH_XNNPACK_SOURCE")
    if source:
        key = hashlib.sha256(os.path.realpath(source).encode()).hexdigest()[:12]
        out = _cache() / "python" / f"xnnpack-{key}"
        if not (out / "lib" / "libxnnpack.a").exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([str(top() / "cmake/xnnpack/build.sh"), "native", source, str(out)], check=True)
        return out
    found = sorted((p for p in glob.glob(str(_cache() / "xnnpack-native-*/lib/libxnnpack.a"))), key=os.path.getmtime)
    if not found:
        raise RuntimeError("XNNPACK is not found: run ./dev setup, or set RUSH_XNNPACK_DIR to a compiled one or "
                           "RUSH_XNNPACK_SOURCE to its sources (cmake/xnnpack/README.md)")
    return pathlib.Path(found[-1]).parents[1]


def _definitions():
    """The same as for XNNPACK's users in CMake: cmake/xnnpack/definitions.cmake without what is 0."""
    text = re.sub(r"#.*", "", (top() / "cmake/xnnpack/definitions.cmake").read_text())
    words = re.search(r"set\(RUSH_XNNPACK_DEFINITIONS([^)]*)\)", text).group(1).split()
    return [f"-D{w}" for w in words if not w.endswith("=0")]


def _folder(*parts):
    """A folder in the cache for what depends on these files and texts."""
    import torch

    key = hashlib.sha256(f"{sys.implementation.cache_tag} {torch.__version__}".encode())
    for part in parts:
        key.update(part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode())
    out = _cache() / "python" / key.hexdigest()[:12]
    out.mkdir(parents=True, exist_ok=True)
    return out


def _files(folder, *patterns):
    return sorted(f for pattern in patterns for f in (top() / folder).rglob(pattern))


def build_runtime():
    """librushlight.a, compiled by the C compiler (cpp_extension would compile .c files as C++)."""
    sources = _files("wasm/src", "*.c")
    xnnpack = _xnnpack()
    cc = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "clang"
    launcher = [shutil.which("ccache")] if shutil.which("ccache") else []
    flags = ["-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-DNDEBUG",
             f"-I{top() / 'wasm/include'}", f"-I{top() / 'wasm/src'}"]
    kernels = [*flags, "-O3", *_definitions(), f"-I{xnnpack / 'include'}"]
    out = _folder(*sources, *_files("wasm", "*.h", "*.def"), cc, *kernels)
    archive = out / "librushlight.a"
    if archive.exists():
        return archive, xnnpack

    def compile_one(source):
        target = os.path.join(objects, f"{source.parent.name}-{source.stem}.o")
        command = [*launcher, cc, *(kernels if source.parent.name == "kernels" else flags)]
        done = subprocess.run([*command, "-c", str(source), "-o", target], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{source} does not compile:\n{done.stderr}")
        return target

    workers = int(os.environ.get("MAX_JOBS") or os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(dir=out) as objects:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            made = list(pool.map(compile_one, sources))
        part = os.path.join(objects, archive.name)
        subprocess.run(["ar", "rcs", part, *made], check=True)
        os.rename(part, archive)
    return archive, xnnpack


def _load(name, sources, includes, is_python_module):
    import torch
    from torch.utils import cpp_extension

    version = tuple(int(n) for n in re.findall(r"\d+", torch.__version__)[:2])
    standard = "-std=c++17" if version <= (2, 6) else "-std=c++20"
    archive, xnnpack = build_runtime()
    includes = [top() / "wasm/include", *includes]
    flags = [standard, "-O1", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-Wno-deprecated-declarations"]
    headers = [h for folder in includes for h in _files(folder, "*.h")]
    out = _folder(archive, *sources, *headers, *flags)
    library = out / f"{name}.so"
    if not library.exists():
        print(f"rushlight: compiling {name} in {out}, once", file=sys.stderr)
        cpp_extension.load(
            name=name, sources=[str(s) for s in sources], extra_cflags=flags,
            extra_include_paths=[str(i) for i in includes], build_directory=str(out), is_python_module=is_python_module,
            # Nothing of our archives may be seen beside PyTorch's own XNNPACK.
            extra_ldflags=[str(archive), str(xnnpack / "lib/libxnnpack.a"), "-Wl,--exclude-libs,ALL", "-lm"])
    return library


def build_class():
    folder = top() / "exporter/torch"
    return _load("librushlight_torch", sorted(folder.glob("*.cpp")), [folder], False)


def build_extension():
    folder = top() / "exporter/src"
    sources = [f for f in _files(folder, "*.cpp") if f.name != "main.cpp"]
    values = top() / "exporter/torch"
    return _load("_C", [*sources, values / "torch_values.cpp"], [folder, values], True)
