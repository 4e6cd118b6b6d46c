"""Builds the programs of this folder against the installed package, runs them, and compares their output with PyTorch."""

import json
import sys
from pathlib import Path

DEMO = Path(__file__).resolve().parent
sys.path.insert(0, str(DEMO.parent / 'shared'))
from cmake_build import NATIVE, TOP, call, cmake, package  # noqa: E402

FOLDER = TOP / 'build' / 'demo' / '03-native'


def main():
    call(sys.executable, DEMO / 'export.py', FOLDER)
    programs = cmake(DEMO, FOLDER / 'programs', package(NATIVE, FOLDER / 'prefix'))
    cases = json.loads((FOLDER / 'expected.json').read_text())
    for program, model in ('run_c', 'model.rush'), ('run_cpp', 'model.rush'), ('run_torch', 'lowered.pt'):
        worst = 0.0
        for case in cases:
            printed = call(programs / program, FOLDER / model, *case['input']).splitlines()
            numbers = [[float(x) for x in line.split(': ')[-1].split()] for line in printed]
            worst = max(worst, *(abs(a - b) for got, want in zip(numbers, case['output'], strict=True)
                                 for a, b in zip(got, want, strict=True)))
        print(f'{program:<12} {model:<12} max abs {worst:.1e} from PyTorch, printed with six decimals')
        if worst > 2e-6:
            sys.exit(f'{program} differs from PyTorch')


if __name__ == '__main__':
    main()
