"""Prints tables for ./dev bench, and measures the size of the files that a page loads."""

import subprocess


def table(head, rows):
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    for row in (head, *rows):
        print('  '.join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip())
    print()


def millis(value):
    return f'{value:.1f}' if value >= 10 else f'{value:#.3g}'


def brotli(file, quality=11):
    """Returns the size of a file as web servers precompress it, or faster with a lower quality."""
    return len(subprocess.run(['brotli', '-q', str(quality), '-w', '24', '-c', str(file)], stdout=subprocess.PIPE, check=True).stdout)
