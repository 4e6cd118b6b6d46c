"""Runs turns of contenders in Chromium or Node, and writes their results with the machine that gave them."""

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def fail(text):
    sys.exit(f'bench: {text}')


def chosen(rivals, known):
    """Returns the rivals of an option, or all that are known."""
    names = rivals.split(',') if rivals else list(known)
    for name in names:
        if name not in known:
            fail(f'there is no rival {name}: {", ".join(known)}')
    return names


def run(script, options, host='chromium'):
    """Returns what a script of this folder prints."""
    node = os.environ['RUSH_NODE_CURRENT'] if host == 'current' else os.environ.get('RUSH_NODE', 'node')
    done = subprocess.run([node, str(HERE / script), json.dumps(options)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        fail(f'{host} failed: see the error above')
    return json.loads(done.stdout)


def processor():
    lines = Path('/proc/cpuinfo').read_text().splitlines()
    return next((line.split(':', 1)[1].strip() for line in lines if line.startswith('model name')), 'an unknown processor')


def write(file, results):
    machine = {'date': datetime.date.today().isoformat(), 'processor': f'{processor()}, {os.cpu_count()} cores'}
    Path(file).write_text(json.dumps({**machine, **results}, indent=1) + '\n')
