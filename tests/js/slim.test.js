// npx rushlight slim: a runtime with the operators of some files, which gives the same answers to the bit.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { namesHalves, reaches, weightsOf } from '../../js/bin/slim-rules.js';
import { load, plan } from '../../js/src/index.js';
import { hasRelaxed } from '../../js/src/engine/runtime.js';
import { RushFile } from './build-rush.mjs';
import { leftToCurrent, ranBefore } from './nodes.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const bin = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url));
const tests = fileURLToPath(new URL('..', import.meta.url)); // where binaryen is installed
const dir = mkdtempSync(join(tmpdir(), 'rush-slim-'));
after(() => rmSync(dir, { recursive: true }));
const at = (/** @type {string[]} */ ...names) => join(dir, ...names);
const backends = /** @type {const} */ (hasRelaxed() ? ['simd', 'relaxed'] : ['simd']);

/** @param {string[]} args */
const slim = (...args) =>
  promisify(execFile)(process.execPath, [bin, 'slim', ...args], { cwd: tests }).then(
    ({ stdout }) => stdout,
    (e) => {
      throw new Error(e.stderr);
    },
  );
/** @param {string} folder */
const wasmOf = (folder) => ({ simd: at(folder, 'rushlight-simd.wasm'), relaxed: at(folder, 'rushlight-relaxed.wasm') });

let missing = leftToCurrent || '',
  report = '';
before(async () => {
  if (missing) return;
  const { status, stderr, error } = spawnSync('python3', [join(here, 'slim_models.py'), dir], { encoding: 'utf8' });
  if (error || /No module named '(torch|torchvision|rushlight)'/.test(stderr))
    missing = 'there is no python3 with torch and rushlight: use ./dev test';
  else {
    assert.equal(status, 0, stderr);
    report = await slim(at('mobilenet.rush'), '-o', at('mobilenet'));
  }
});
const f = new RushFile();
f.method('forward', { inputs: [{ name: 'x' }], outputs: ['y'] }, (m, x) => m.op('aten::tanh', [x]));
writeFileSync(at('tanh.rush'), f.bytes());

/**
 * An operator of a MobileNet with another weight.
 * @param {string} name
 * @param {string} op
 * @param {Float32Array | Float64Array} weight
 * @param {number[]} shape
 * @param {(file: RushFile) => number[]} rest
 */
function weighted(name, op, weight, shape, rest) {
  const file = new RushFile();
  file.method('forward', { inputs: [{ name: 'x' }], outputs: ['y'] }, (/** @type {any} */ m, /** @type {number} */ x) =>
    m.op(op, [x, file.tensor(weight, shape), file.none(), ...rest(file), file.float(-Infinity), file.float(Infinity)]),
  );
  writeFileSync(at(`${name}.rush`), file.bytes());
}
const depthwise = (/** @type {any} */ file) => [
  file.ints([1, 1]),
  file.ints([1, 1, 1, 1]),
  file.ints([1, 1]),
  file.int(4),
];
weighted(
  'five',
  'rush::conv',
  Float32Array.from({ length: 100 }, (_, i) => Math.sin(i)),
  [4, 1, 5, 5],
  depthwise,
);
weighted(
  'conv_double',
  'rush::conv',
  Float64Array.from({ length: 36 }, (_, i) => Math.sin(i)),
  [4, 1, 3, 3],
  depthwise,
);
weighted(
  'tiled',
  'rush::conv',
  Float32Array.from({ length: 9 * 32 * 32 }, (_, i) => Math.sin(i * i) / 9),
  [32, 32, 3, 3],
  (file) => [file.ints([1, 1]), file.ints([1, 1, 1, 1]), file.ints([1, 1]), file.int(1)],
);
weighted(
  'linear_half',
  'rush::linear',
  Uint16Array.from({ length: 64 * 9 }, (_, i) => 0x3000 + i),
  [64, 9],
  () => [],
);
const rowBias = new RushFile();
rowBias.method(
  'forward',
  { inputs: [{ name: 'x' }], outputs: ['y'] },
  (/** @type {any} */ m, /** @type {number} */ x) =>
    m.op('aten::linear', [
      x,
      rowBias.tensor(Float32Array.from({ length: 12 }, Math.sqrt), [3, 4]),
      rowBias.tensor(Float32Array.of(7), [1]),
    ]),
);
writeFileSync(at('linear_bias.rush'), rowBias.bytes());
weighted(
  'linear_double',
  'rush::linear',
  Float64Array.from({ length: 12 }, (_, i) => Math.sin(i)),
  [3, 4],
  () => [],
);

/** A picture of some size: the same numbers each time. @param {number[]} shape */
function picture(shape) {
  const data = new Float32Array(shape.reduce((a, b) => a * b));
  for (let i = 0, s = 1; i < data.length; i++) data[i] = (s = (Math.imul(s, 1664525) + 1013904223) >>> 0) / 2 ** 31 - 1;
  return { dtype: /** @type {const} */ ('float32'), shape, data };
}

test('a MobileNet needs at most 80 kB of wasm, and gives the same bits', async (t) => {
  if (missing) return t.skip(missing);
  const sizes = [
    ...report.matchAll(/rushlight-(simd|relaxed)\.wasm: ([\d,]+) -> ([\d,]+) bytes, brotli ([\d,]+) -> ([\d,]+)\n/g),
  ].map((m) => m.slice(2).map((n) => Number(n.replaceAll(',', ''))));
  assert.equal(sizes.length, 2, report);
  for (const [before = 0, after = 0, brotliBefore = 0, brotli = 0] of sizes) {
    assert(after < before / 2 && brotliBefore > 200_000, report);
    assert(brotli <= 80_000, report);
  }
  t.diagnostic(report);
  const numbers = (/** @type {string} */ text) =>
    [...text.matchAll(/wasm: .*/g)].flatMap(([line]) =>
      [...line.matchAll(/[\d,]+\d/g)].map(([n]) => Number(n.replaceAll(',', ''))),
    );
  const now = numbers(report),
    told = numbers(readFileSync(new URL('../../web/guide/slim.md', import.meta.url), 'utf8'));
  assert(
    told.length === now.length && told.every((n, i) => Math.abs(n - (now[i] ?? 0)) < 0.03 * n),
    `web/guide/slim.md tells ${told}, it is ${now}`,
  );
  for (const file of ['README.md', 'js/README.md']) {
    for (const [, , , size = 0] of sizes)
      assert.equal(
        Number(
          /slim` reduces it to (\d+) kB for MobileNetV2/.exec(
            readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'),
          )?.[1],
        ),
        Math.round(size / 1e4) * 10,
        file,
      );
  }
  for (const backend of backends) {
    const full = await load(at('mobilenet.rush'), { backend }),
      slimmed = await load(at('mobilenet.rush'), { backend, wasm: wasmOf('mobilenet') });
    assert.equal(slimmed.backend.name, backend);
    assert((await slimmed.verify()).passed);
    for (const shape of [
      [1, 3, 96, 96],
      [2, 3, 33, 47],
      [1, 3, 32, 160],
    ]) {
      const x = picture(shape);
      assert.deepEqual(await slimmed.run({ x }), await full.run({ x }));
    }
    assert.deepEqual(slimmed.describe(), full.describe());
    full.dispose();
    slimmed.dispose();
  }
});

test('other operators are missing, by name', async (t) => {
  if (missing) return t.skip(missing);
  const wasm = wasmOf('mobilenet');
  await assert.rejects(load(at('tanh.rush'), { wasm }), {
    code: 'unsupported',
    message: /this runtime was slimmed; missing aten::tanh\n[^]*npx rushlight slim/,
  });
  assert.deepEqual(
    (await plan(at('tanh.rush'), { wasm })).missing.map(({ name }) => name),
    ['aten::tanh'],
  );
  assert.deepEqual((await plan(at('mobilenet.rush'), { wasm })).missing, []);
  const model = await load(at('tanh.rush'), {
    wasm,
    ops: { 'aten::tanh': (/** @type {any} */ x) => ({ ...x, data: x.data.map(Math.tanh) }) },
  }).catch((e) => e.message);
  assert.match(String(model), /schema/); // it was added without one
});

test('kernels that only other weights need are missing by name, or another kernel serves', async (t) => {
  if (missing) return t.skip(missing);
  const wasm = wasmOf('mobilenet'),
    double = (/** @type {number[]} */ ...shape) => ({
      ...picture(shape),
      dtype: /** @type {const} */ ('float64'),
      data: Float64Array.from(picture(shape).data),
    });
  for (const backend of backends) {
    const open = (/** @type {string} */ file) =>
      Promise.all([{}, { wasm }].map((options) => load(at(file), { backend, ...options })));
    const [full, slimmed] = await open('five.rush');
    const x = picture([1, 4, 9, 11]);
    assert.deepEqual(await slimmed.run({ x }), await full.run({ x }));
    const [, conv] = await open('conv_double.rush'),
      [, linear] = await open('linear_double.rush');
    await assert.rejects(conv.run({ x: double(1, 4, 5, 5) }), {
      code: 'unsupported',
      message: /this runtime was slimmed, and has no convolutions of float64: slim it for this file, too/,
    });
    await assert.rejects(linear.run({ x: double(2, 4) }), {
      code: 'unsupported',
      message: /has no matrix products with this weight of float64: slim it for this file, too/,
    });
  }
  const weights = ['linear_half', 'tiled', 'conv_double', 'linear_double'];
  await slim(at('linear_bias.rush'), '-o', at('bias'));
  await slim(...weights.map((name) => at(`${name}.rush`)), '-o', at('weights'));
  for (const backend of backends) {
    const x = picture([2, 4]),
      [full, slimmed] = await Promise.all(
        [{}, { wasm: wasmOf('bias') }].map((options) => load(at('linear_bias.rush'), { backend, ...options })),
      );
    assert.deepEqual(await slimmed.run({ x }), await full.run({ x }));
  }
  for (const backend of backends) {
    const x = picture([3, 9]);
    const [full, slimmed] = await Promise.all(
      [{}, { wasm: wasmOf('weights') }].map(
        async (options) => (await (await load(at('linear_half.rush'), { backend, ...options })).run({ x })).y.data,
      ),
    );
    assert.deepEqual(slimmed, full);
    assert(full.some((/** @type {number} */ v) => v !== 0));
  }
  for (const backend of backends) {
    const x = picture([1, 32, 20, 20]);
    const [full, slimmed, direct] = await Promise.all(
      [{}, { wasm: wasmOf('weights') }, { wasm }].map(
        async (options) => (await (await load(at('tiled.rush'), { backend, ...options })).run({ x })).y.data,
      ),
    );
    assert.deepEqual(slimmed, full);
    assert.notDeepEqual(direct, full);
    assert(full.every((/** @type {number} */ v, /** @type {number} */ i) => Math.abs(v - direct[i]) < 1e-5));
  }
  for (const backend of backends) {
    for (const [file, x] of /** @type {const} */ ([
      ['conv_double.rush', double(1, 4, 5, 5)],
      ['linear_double.rush', double(2, 4)],
    ])) {
      const [full, slimmed] = await Promise.all(
        [{}, { wasm: wasmOf('weights') }].map((options) => load(at(file), { backend, ...options })),
      );
      assert.deepEqual(await slimmed.run({ x }), await full.run({ x }));
    }
  }
});

test('a kernel goes only where each weight says that it is not reached', () => {
  const graph = (/** @type {any[]} */ ...weights) =>
    /** @type {any} */ ({
      methods: [
        {
          instructions: weights.map((_, i) => ({
            code: 'op',
            op: 'aten::conv2d',
            in: [0, weights[i] ? { constant: i } : 1],
            out: [2],
          })),
        },
      ],
      constants: weights,
    });
  const needs = (/** @type {object} */ some) => ({ weights: new Map(), halves: false, gpu: false, ...some });
  const stay = (/** @type {any[]} */ ...weights) =>
    ['conv_any', 'gemm_any', 'halves', 'dwconv_5x5', 'winograd', 'another'].filter((part) =>
      reaches(part, 'aten::conv2d', needs({ weights: weightsOf([graph(...weights), graph()]) })),
    );
  const float = { tensor: 'w', dtype: 'float32', shape: [4, 1, 3, 3] };
  assert.deepEqual(stay(float, float), ['another']);
  assert.deepEqual(stay(float, { ...float, dtype: 'float16' }), ['conv_any', 'gemm_any', 'halves', 'another']);
  assert.deepEqual(stay({ ...float, shape: [4, 1, 5, 5] }, float), ['dwconv_5x5', 'another']);
  assert.deepEqual(stay({ ...float, shape: [4, 16, 3, 3] }, { ...float, shape: [4, 15, 3, 3] }), [
    'winograd',
    'another',
  ]);
  // The second weight is computed.
  assert.deepEqual(stay(float, undefined), ['conv_any', 'gemm_any', 'halves', 'dwconv_5x5', 'winograd', 'another']);
  const packs = (/** @type {any} */ weight, /** @type {any} */ bias) => {
    const program = /** @type {any} */ ({
      methods: [{ instructions: [{ op: 'aten::linear', in: [0, { constant: 0 }, bias === 1 ? 1 : { constant: 1 }] }] }],
      constants: [weight, bias],
    });
    return !reaches('linear_any', 'aten::linear', needs({ weights: weightsOf([program]) }));
  };
  const matrix = { ...float, shape: [3, 4] },
    row = { ...float, shape: [3] };
  assert(packs(matrix, null) && packs(matrix, row));
  for (const [weight, bias] of [
    [{ ...matrix, dtype: 'float64' }, null],
    [{ ...matrix, shape: [4] }, null],
    [matrix, 1], // a computed bias
    [matrix, { ...row, shape: [1] }],
    [matrix, { ...row, dtype: 'float16' }],
  ])
    assert(!packs(weight, bias), JSON.stringify({ weight, bias }));
  // No rule is known.
  assert(reaches('conv_any', 'torchvision::deform_conv2d', needs({ weights: weightsOf([graph(float)]) })));
  for (const given of [false, true]) {
    assert.equal(reaches('copy_halves', 'aten::relu', needs({ halves: given })), given);
    assert.equal(reaches('gpu', 'aten::relu', needs({ gpu: given })), given);
  }
  assert(
    namesHalves('{"dtype":"float16"}') && namesHalves('{"dtype":"bfloat16"}') && !namesHalves('{"dtype":"float32"}'),
  );
});

test('one runtime serves several files; programs with control flow run on it, too', async (t) => {
  if (missing) return t.skip(missing);
  await slim(at('texts.rush'), at('tanh.rush'), '-o', at('both'));
  for (const backend of backends) {
    const models = await Promise.all(
      [undefined, wasmOf('both')].map((wasm) => load(at('texts.rush'), { backend, ...(wasm && { wasm }) })),
    );
    const answers = [];
    for (const model of models) {
      assert((await model.verify()).passed);
      model.manualSeed(3);
      answers.push(await model.run({ x: picture([4, 3]), words: ['a', 'b', 'c', 'a'] }));
      model.dispose();
    }
    assert.deepEqual(answers[1], answers[0]);
    const tanh = await load(at('tanh.rush'), { backend, wasm: wasmOf('both') });
    assert.deepEqual(
      (await tanh.run({ x: picture([5]) })).y.data,
      (await (await load(at('tanh.rush'), { backend })).run({ x: picture([5]) })).y.data,
    );
  }
});

test('a runtime keeps what a GPU needs if slim is told so', async (t) => {
  if (missing) return t.skip(missing);
  const device = { lost: new Promise(() => {}), limits: {}, createBuffer: () => ({ destroy() {} }) },
    gpu = { requestAdapter: async () => ({ limits: {}, info: {}, requestDevice: async () => device }) };
  const open = (/** @type {string} */ folder) => load(at('tanh.rush'), { device: 'webgpu', gpu, wasm: wasmOf(folder) });
  await slim(at('tanh.rush'), '-o', at('without_gpu'));
  await assert.rejects(open('without_gpu'), { code: 'unsupported', message: /slimmed without --device webgpu/ });
  await slim(at('tanh.rush'), '--device', 'webgpu', '-o', at('with_gpu'));
  const model = await open('with_gpu');
  assert.equal(model.backend.device, 'webgpu');
  model.dispose();
  await assert.rejects(
    slim(at('tanh.rush'), '--device', 'tpu', '-o', at('none')),
    /--device must be cpu or webgpu, got tpu/,
  );
});

test('the same files give the same bytes', async (t) => {
  if (missing) return t.skip(missing);
  const files = [at('texts.rush'), at('tanh.rush')];
  assert(JSON.parse(await slim(...files, '-o', at('again'), '--json')).operators.includes('aten::tanh'));
  for (const backend of /** @type {const} */ (['simd', 'relaxed']))
    assert(readFileSync(wasmOf('again')[backend]).equals(readFileSync(wasmOf('both')[backend])), backend);
});

test('what cannot be slimmed is refused, with a way out', { skip: ranBefore }, async () => {
  const own = new RushFile();
  own.method('forward', { inputs: [{ name: 'x' }], outputs: ['y'] }, (m, x) =>
    m.op('my_ops::scale', [x], 'Tensor', 'my_ops::scale(Tensor x) -> Tensor'),
  );
  writeFileSync(at('own.rush'), own.bytes());
  await assert.rejects(
    slim(at('own.rush'), '-o', at('none')),
    /own\.rush needs operators that this package lacks: my_ops::scale\. Pass --ops FILE\.js if JavaScript computes them/,
  );
  writeFileSync(at('ops.mjs'), "export default { 'my_ops::scale': (x) => x };\n");
  assert.match(await slim(at('own.rush'), '--ops', at('ops.mjs'), '-o', at('own')), /^0 operators/);
  await assert.rejects(slim(at('tanh.rush')), /slim needs a folder for the two binaries: --output DIR/);

  // A copy of the package in a folder without binaryen, and one with another binary.
  mkdirSync(at('copy'));
  for (const name of ['bin', 'src', 'wasm', 'package.json'])
    cpSync(fileURLToPath(new URL(`../../js/${name}`, import.meta.url)), at('copy', name), { recursive: true });
  const copy = (/** @type {string} */ cwd) =>
    spawnSync(process.execPath, [at('copy', 'bin', 'rushlight.js'), 'slim', at('tanh.rush'), '-o', at('none')], {
      cwd,
      encoding: 'utf8',
    });
  const without = copy(dir);
  assert.equal(without.status, 1);
  assert.match(without.stderr, /^rushlight: .*npm install .*binaryen/);
  const other = at('copy', 'wasm', 'rushlight-simd.wasm');
  writeFileSync(other, Buffer.concat([readFileSync(other), Buffer.of(0, 1, 0)])); // a section without name or content
  assert.match(copy(tests).stderr, /rushlight-simd\.wasm must be the file of this package/);
});
