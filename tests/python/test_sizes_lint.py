"""tests/lint/sizes.py finds products and sums of sizes that may wrap, and nothing else."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "lint"))
import sizes  # noqa: E402


@pytest.mark.parametrize("call", [
    "rush_mul(a.out, a.n * sizeof *a.weight + 2 * sizeof *a.first, &bytes)",
    "rush_mul(rows, row * rush_itemsize(x), &bytes)",
    "tmp_items(c, 2 * n, sizeof *items, (void **)&items)",
    "tmp_bytes(c, (size_t)n << 3, &scratch)",
    "rush_alloc(ctx, w->n_same * bytes, &memory)",
    "!__builtin_add_overflow(*bytes, j->f.copies ? j->f.images + 2 * SLACK : 0, bytes)",
    "rush_realloc(ctx, &p, old, (ctx->n + 1) * sizeof *ctx->ops)",
    "size_t bytes = n * sizeof(float); RUSH_TRY(rush_alloc(p->ctx, bytes, &floats))",
])
def test_bare_sizes_are_found(call):
    assert len(list(sizes.bare_sizes(f"void f(void) {{\n  {call};\n}}\n"))) == 1


@pytest.mark.parametrize("call", [
    "rush_mul(n, 3 * sizeof(double), &bytes)",
    "rush_add(bytes, sizeof(rush_fused) + OUTSIDE * sizeof(outside), &bytes)",
    "tmp_items(c, n, sizeof *items, (void **)&items)",
    "rush_calloc(ctx, n, 2 * sizeof *t->tuples, (void **)&t->tuples)",
    "rush_mul64(last[k + 1], r, &to[d * 2])",
    "size_t at = i * n; use(at)",
])
def test_what_cannot_wrap_is_left_alone(call):
    assert not list(sizes.bare_sizes(f"void f(void) {{\n  {call};\n}}\n"))


def test_words_are_no_products():
    assert not list(sizes.bare_sizes('/* rush_mul(a * b, c) */ puts("tmp_bytes(c, a * b)");'))
