"""pip install --no-build-isolation ./exporter/python, with this checkout around it and CMake on the path: puts the compiled files
in the package, which rushlight/_build.py has CMake build, or takes from its build folder RUSH_NATIVE.

RUSH_WHEEL=PLATFORM pip wheel --no-build-isolation ./exporter/python makes the wheel that serves every version of Python and of PyTorch,
with this tag of a platform, such as manylinux_2_28_x86_64. It lacks librushlight_torch, which binds to one PyTorch.
"""

import atexit
import importlib.util
import json
import os
import pathlib
import shutil
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_ext import build_ext

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
PLATFORM = os.environ.get("RUSH_WHEEL")


def build_module():
    spec = importlib.util.spec_from_file_location("rushlight_build", HERE / "rushlight" / "_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version():
    """Returns the version of all packages, in the spelling of PEP 440: 0.1.0-rc.1 is 0.1.0rc1 there."""
    package = json.loads((HERE.parents[1] / "js" / "package.json").read_text())
    return package["version"].replace("-rc.", "rc")


class Build(build_ext):
    def finalize_options(self):
        super().finalize_options()
        self.extensions = []

    def get_outputs(self):
        return []

    def run(self):
        build = build_module()
        into = HERE / "rushlight" if self.inplace else pathlib.Path(self.build_lib) / "rushlight"
        os.makedirs(into, exist_ok=True)
        shutil.copy(build.native_library(), into / build.NATIVE_LIBRARY)
        if not self.inplace:
            for name in ("LICENSE", "THIRD_PARTY_NOTICES"):
                shutil.copy(HERE.parents[1] / name, into / name)
        if not PLATFORM:
            shutil.copy(build.class_library(), into / build.CLASS_LIBRARY)


class Wheel(bdist_wheel):
    """Without librushlight_torch, one wheel serves all versions of Python: its library binds to none."""

    def get_tag(self):
        return ("py3", "none", PLATFORM) if PLATFORM else super().get_tag()


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


# A folder of earlier builds would put files into the wheel that this build does not make.
BUILD = tempfile.mkdtemp(prefix="rushlight-build-")
atexit.register(shutil.rmtree, BUILD, ignore_errors=True)

setup(version=version(), options={"build": {"build_base": BUILD}}, cmdclass={"build_ext": Build, "bdist_wheel": Wheel}, distclass=Compiled)
