"""Builds the operator: for PyTorch, for programs with the native runtime, and for the page. Needs OpenCV and what ./dev has.

Each function gives the folder of what it built; a second time it builds what changed."""

import sys
from pathlib import Path

import torch

DEMO = Path(__file__).resolve().parent
sys.path.insert(0, str(DEMO.parent / 'shared'))
from cmake_build import NATIVE, TOP, call, cmake, package  # noqa: E402,F401

BUILD = TOP / 'build' / 'custom-operator'


def host():
    """libwarp_perspective.so and libwarp_perspective_inferred.so, for torch.ops.load_library."""
    return cmake(DEMO / 'host', BUILD / 'host', f'-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}')


def native():
    """The programs run_linked and run_added."""
    return cmake(DEMO, BUILD / 'native', package(NATIVE, BUILD / 'prefix-native'))


def wasm():
    """warp.wasm."""
    return cmake(DEMO, BUILD / 'simd', package(TOP / 'build' / 'simd', BUILD / 'prefix-simd'), wrapper=('emcmake',))
