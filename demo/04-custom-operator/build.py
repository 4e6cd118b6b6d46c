"""Builds the operator: for PyTorch, for programs with the native runtime, and for the page. Needs OpenCV and what ./dev has.

Each function gives the folder of what it built; a second time it builds what changed."""

import os
import shutil
import subprocess
from pathlib import Path

import torch

DEMO = Path(__file__).resolve().parent
TOP = DEMO.parents[1]
BUILD = TOP / 'build' / 'custom-operator'
NATIVE = Path(os.environ.get('RUSH_NATIVE', TOP / 'build' / 'native'))


def call(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def cmake(source, folder, *settings, wrapper=()):
    """Configures and builds; with ccache where there is one."""
    languages = ('C', 'CXX') if shutil.which('ccache') and not wrapper else ()
    call(*wrapper, 'cmake', '-G', 'Ninja', '-S', source, '-B', folder, '-DCMAKE_BUILD_TYPE=Release',
         *(f'-DCMAKE_{name}_COMPILER_LAUNCHER=ccache' for name in languages), *settings)
    call('cmake', '--build', folder)
    return folder


def package(build):
    """Installs a build of Rushlight; where find_package finds it."""
    prefix = BUILD / f'prefix-{build.name}'
    call('cmake', '--install', build, '--prefix', prefix)
    return f'-DRushlight_DIR={next(prefix.glob("lib*/cmake/Rushlight"))}'


def host():
    """libwarp_perspective.so and libwarp_perspective_inferred.so, for torch.ops.load_library."""
    return cmake(DEMO / 'host', BUILD / 'host', f'-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}')


def native():
    """The programs run_linked and run_added."""
    return cmake(DEMO, BUILD / 'native', package(NATIVE))


def wasm():
    """warp.wasm."""
    return cmake(DEMO, BUILD / 'simd', package(TOP / 'build' / 'simd'), wrapper=('emcmake',))
