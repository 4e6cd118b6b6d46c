"""pip install --no-build-isolation ./exporter/python, with this checkout around it and CMake on the path: puts the module
_C and librushlight_torch in the package, which rushlight/_build.py has CMake build, or takes from its build folder
RUSH_NATIVE."""

import importlib.util
import json
import os
import pathlib
import shutil
import sysconfig

from setuptools import Distribution, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent


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
        shutil.copy(build.extension_path(), into / f"_C{sysconfig.get_config_var('EXT_SUFFIX')}")
        shutil.copy(build.class_library(), into / build.CLASS_LIBRARY)


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version(), cmdclass={"build_ext": Build}, distclass=Compiled)
