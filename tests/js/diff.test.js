// model.diff(): a run beside the trace of PyTorch's that the file holds.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { load } from '../../js/src/index.js';
import { flipFile, tracedFile } from './build-rush.mjs';
import { shown } from './shown.js';

const dir = mkdtempSync(join(tmpdir(), 'rush-diff-'));
after(() => rmSync(dir, { recursive: true }));

/** @typedef {{ dtype: 'float32', shape: number[], data: Float32Array }} T */
/** @param {T} x */
const twice = (x) => ({ ...x, data: x.data.map((v) => 2 * v) });
const right = { 'my_ops::twice': twice };

for (const worker of [false, true]) {
  const where = worker ? ', in a worker' : '';

  test(`a run that is PyTorch's agrees${where}`, async () => {
    const model = await load(tracedFile().bytes(), { ops: right, worker });
    for (let again = 0; again < 2; again++) {
      // the trace has nothing of the loop itself
      assert.deepEqual(await model.diff(), {
        agrees: true,
        compared: 4,
        unpaired: 1,
        maxAbs: 0,
        maxRel: 0,
        first: null,
      });
    }
    assert.deepEqual([...(await model.run({ x: [1, 2] })).y.data], [16, 8]);
    model.dispose();
  });

  test(`a broken operator is named with its line and round${where}`, async () => {
    let calls = 0;
    const broken = (/** @type {T} */ x) => (++calls === 3 ? { ...x, data: x.data.map((v) => v + 1) } : twice(x));
    const model = await load(tracedFile().bytes(), { ops: { 'my_ops::twice': broken }, worker });
    const { agrees, compared, first } = await model.diff();
    assert.ok(!agrees && first);
    assert.equal(compared, 3);
    assert.equal(
      first.node,
      model.graph.nodes.find((n) => n.target === 'my_ops::twice'),
    );
    assert.equal(first.iteration, 2);
    assert.equal(first.source, 'model.py:5');
    assert.match(
      first.message,
      /^forward, instruction 2 \(my_ops::twice\) at model\.py:5: iteration 2: result: expected 8, got 5/,
    );
    assert.equal(calls, 3);
    model.dispose();
  });
}

test('another answer of PyTorch parts in its round', async () => {
  const model = await load(tracedFile(4.5).bytes(), { ops: right });
  const { agrees, first } = await model.diff();
  assert.ok(!agrees && first?.iteration === 1 && /expected 4\.5, got 4/.test(first.message));
  model.dispose();
});

test('an operator that throws ends the comparison', async () => {
  const model = await load(tracedFile().bytes(), {
    ops: {
      'my_ops::twice': () => {
        throw new Error('no');
      },
    },
  });
  await assert.rejects(model.diff(), { code: 'operator' });
  await assert.rejects(model.diff(), { code: 'operator' });
  model.dispose();
});

test('a file without a trace says so', async () => {
  const model = await load(flipFile().bytes());
  await assert.rejects(model.diff(), { code: 'bad-argument', message: /holds no trace of test vector 0/ });
  model.dispose();
});

// A loop, a fusion, views and writes in place, from the exporter; and the same file with other weights.
const EXPORT = `
import sys, torch, rushlight
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 3)
    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x))).mean([2, 3])
        n = 0
        while n < x.size(0):
            y[0].mul_(0.5)
            n += 1
        return self.fc(y)
net = torch.jit.script(Net().eval())
rushlight.export(net, (torch.randn(2, 1, 6, 6),), sys.argv[1], trace=True)
data = open(sys.argv[1], "rb").read()
weight = net.fc.weight.detach()
at = data.index(weight.numpy().tobytes())
open(sys.argv[2], "wb").write(data[:at] + (weight * 2).numpy().tobytes() + data[at + 4 * weight.numel():])
`;

test(
  'what the exporter stores, in each binary',
  shown('Diff', 'in JavaScript: model.diff() and npx rushlight diff, with the trace of the file', async (t) => {
    const good = join(dir, 'good.rush'),
      bad = join(dir, 'bad.rush');
    writeFileSync(join(dir, 'make.py'), EXPORT);
    const { status, stderr } = spawnSync('python3', [join(dir, 'make.py'), good, bad], { encoding: 'utf8' });
    if (/No module named '(torch|rushlight)'/.test(stderr))
      return t.skip('there is no python3 with torch and rushlight: use ./dev test');
    assert.equal(status, 0, stderr);
    for (const backend of /** @type {const} */ (['simd', 'auto'])) {
      const model = await load(readFileSync(good), { backend });
      const report = await model.diff();
      assert.ok(report.agrees && report.compared >= 8, JSON.stringify(report.first?.message));
      model.dispose();
      const other = await load(readFileSync(bad), { backend });
      const { first } = await other.diff();
      assert.equal(first?.node.target, 'rush::linear');
      assert.match(first.source, /make\.py:13$/);
      other.dispose();
    }
    const bin = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url));
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [bin, 'diff', ...args], { encoding: 'utf8' });
    assert.match(run(good).stdout, /^\d+ values agree with PyTorch's/);
    const parted = run(bad);
    assert.equal(parted.status, 1);
    assert.match(parted.stdout, /then they part: forward, instruction \d+ \(rush::linear\)/);
    assert.equal(JSON.parse(run(bad, '--json').stdout).first.source.endsWith('make.py:13'), true);
  }),
);
