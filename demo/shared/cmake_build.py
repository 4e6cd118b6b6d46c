"""Builds CMake projects of the demos against an installed Rushlight."""

import os
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
NATIVE = Path(os.environ.get('RUSH_NATIVE', TOP / 'build' / 'native'))


def call(*command):
    """Runs a command and returns its output. Raises RuntimeError with the output if it fails."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def cmake(source, folder, *settings, wrapper=()):
    """Configures the project and builds changes, with ccache if there is one. Returns the folder."""
    languages = ('C', 'CXX') if shutil.which('ccache') and not wrapper else ()
    call(*wrapper, 'cmake', '-G', 'Ninja', '-S', source, '-B', folder, '-DCMAKE_BUILD_TYPE=Release',
         *(f'-DCMAKE_{name}_COMPILER_LAUNCHER=ccache' for name in languages), *settings)
    call('cmake', '--build', folder)
    return folder


def package(build, prefix):
    """Installs a build of Rushlight. Returns the setting for find_package."""
    call('cmake', '--install', build, '--prefix', prefix)
    return f'-DRushlight_DIR={next(prefix.glob("lib*/cmake/Rushlight"))}'
