"""Builds the operator: for PyTorch, for programs with the native runtime, and for the page. It needs OpenCV and ./dev's tools.

Each function returns the folder of its build. A second call only builds changes."""

import sys
from pathlib import Path

import torch

DEMO = Path(__file__).resolve().parent
sys.path.insert(0, str(DEMO.parent / 'shared'))
from cmake_build import NATIVE, TOP, call, cmake, package  # noqa: E402,F401

BUILD = TOP / 'build' / 'custom-operator'


def host():
    """Builds libwarp_perspective.so and libwarp_perspective_inferred.so, for torch.ops.load_library."""
    return cmake(DEMO / 'host', BUILD / 'host', f'-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}')


def native():
    """Builds the programs run_linked and run_added."""
    return cmake(DEMO, BUILD / 'native', package(NATIVE, BUILD / 'prefix-native'))


def wasm():
    """Builds warp.wasm."""
    return cmake(DEMO, BUILD / 'simd', package(TOP / 'build' / 'simd', BUILD / 'prefix-simd'), wrapper=('emcmake',))
