// npx rushlight, as a user calls it.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';

import { readNpy, writeNpy } from '../../js/src/media/npy.js';
import { readSafetensors, writeSafetensors } from '../../js/src/media/safetensors.js';
import { DTYPES } from '../../js/src/base/types.js';
import { hasRelaxed } from '../../js/src/engine/runtime.js';
import { RushFile, flipFile } from './build-rush.mjs';
import { ending } from './nodes.mjs';

const bin = fileURLToPath(new URL('../../js/bin/rushlight.js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'rush-cli-'));
after(() => rmSync(dir, { recursive: true }));

/** @param {string[]} args */
function cli(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...ending, bin, ...args], {
    cwd: dir,
    encoding: 'utf8',
  });
  return { status, out: stdout, err: stderr };
}
/** @param {string} name @param {Uint8Array} bytes */
const put = (name, bytes) => writeFileSync(join(dir, name), bytes);
/** @param {string} name */
const get = (name) => readFileSync(join(dir, name));

const x = { dtype: /** @type {const} */ ('float32'), shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) };
put('flip.rush', flipFile().bytes());
put('x.npy', writeNpy(x));
put('in.safetensors', writeSafetensors({ x }));
{
  const f = new RushFile();
  f.method(
    'forward',
    { inputs: [{ name: 'x' }, { name: 'n', type: 'int' }] },
    (m, a, n) => m.loop(n, [a], (_, v) => [m.op('aten::flip', [v, f.ints([0])])])[0],
  );
  f.method(
    'half',
    {
      inputs: [
        { name: 'v', type: 'float' },
        { name: 's', type: 'str', initial: f.str('a') },
      ],
      outputs: [{ name: 'v', type: 'float' }],
      result: 'float',
    },
    (_, v) => v,
  );
  put('loop.rush', f.bytes());
}
{
  const f = flipFile();
  const w = f.tensor(Float32Array.of(1, 2), [1, 2]);
  f.test(0, [w], ['Tensor'], f.tensor(Float32Array.of(2, 1), [1, 2]));
  put('good.rush', f.bytes());
  f.test(0, [w], ['Tensor'], w);
  put('bad.rush', f.bytes());
}

test('run writes one .npy for each output', () => {
  assert.deepEqual(cli('run', 'flip.rush', '--input', 'x=x.npy', '--output', 'out'), {
    status: 0,
    out: 'y: float32 [2, 2]  2 1 4 3\n',
    err: '',
  });
  assert.deepEqual(readdirSync(join(dir, 'out')), ['y.npy']);
  assert.deepEqual(readNpy(get('out/y.npy')), { ...x, data: Float32Array.of(2, 1, 4, 3) });
});

test('the names of outputs never leave the folder, and each has its own file', () => {
  const names = [
    '..',
    '.',
    '',
    '../up',
    '../../up',
    '/etc/up',
    'a/b',
    'a\\b',
    'A/B',
    'nul',
    'CON.x',
    '~',
    '.hidden',
    'new\nline',
    'tab\t',
    '\u202eltr',
    'c:stream',
    'x'.repeat(10_000),
    `${'x'.repeat(10_000)}y`,
    '__proto__',
    'é',
  ];
  const f = new RushFile();
  f.method(
    'forward',
    { inputs: [{ name: 'x' }], outputs: names, result: `(${names.map(() => 'Tensor').join(', ')})` },
    (m, a) =>
      m.op(
        'prim::TupleConstruct',
        names.map(() => a),
        `(${names.map(() => 'Tensor').join(', ')})`,
      ),
  );
  put('names.rush', f.bytes());
  const before = readdirSync(dir).concat(readdirSync(join(dir, '..')));
  const { status, err } = cli('run', 'names.rush', '-i', 'x=x.npy', '--output', 'deep');
  assert.deepEqual([status, err], [0, '']);
  const files = readdirSync(join(dir, 'deep'), { withFileTypes: true });
  assert.deepEqual(
    files.map((file) => file.isFile() && file.name.endsWith('.npy')),
    names.map(() => true),
    'one for each',
  );
  assert.equal(
    new Set(files.map((file) => file.name.toLowerCase())).size,
    names.length,
    'also where capitals do not count',
  );
  assert(
    files.every((file) => !/[\\/:\p{C}]/u.test(file.name) && !/^(\.|(nul|con)\.)/i.test(file.name)),
    files.map((file) => file.name).join('\n'),
  );
  const after = readdirSync(dir).concat(readdirSync(join(dir, '..')));
  assert.deepEqual(
    after.filter((name) => name.endsWith('.npy') && !before.includes(name)),
    [],
  );
  rmSync(join(dir, 'deep'), { recursive: true });
});

test('types writes to stdout where that is asked for', () => {
  const { status, out, err } = cli('types', 'flip.rush', '--output', '-');
  assert.deepEqual([status, err], [0, '']);
  assert.match(out, /^\/\/ Made from flip\.rush[^]*export type Flip = \{[^]*\};\n$/);
  assert(!existsSync(join(dir, '-')));
});

test('complex numbers are read from a .npy and written into one', () => {
  const z = { dtype: /** @type {const} */ ('complex64'), shape: [1, 2], data: Float32Array.of(1, 2, 3, 4) };
  put('z.npy', writeNpy(z));
  assert.deepEqual(cli('run', 'flip.rush', '--input', 'x=z.npy', '--output', 'flipped.npy').err, '');
  assert.deepEqual(readNpy(get('flipped.npy')), { ...z, data: Float32Array.of(3, 4, 1, 2) });
});

test('without arguments it says what there is, with examples', () => {
  const { status, out, err } = cli();
  assert.deepEqual([status, err], [0, '']);
  assert.match(out, /^usage: npx rushlight COMMAND/);
  assert.match(out, /\n {2}npx rushlight inspect m\.rush --layers\n/);
  assert.equal(cli('--help').out, out);
});

test('inspect --layers is a table of the modules that have weights', () => {
  const f = new RushFile();
  const w = f.tensor(new Float32Array(1200), [30, 40], { name: 'net.fc.weight' }),
    b = f.tensor(new Float32Array(30), [30], { name: 'net.fc.bias' });
  const n = f.tensor(new BigInt64Array(2), [2], { name: 'steps' }),
    c = f.tensor(new Float32Array(3), [3]);
  f.method('forward', { outputs: ['y'] }, (m) => {
    m.op('aten::add.Tensor', [n, c, f.int(1)]);
    return m.op('aten::add.Tensor', [w, b, f.int(1)]);
  });
  f.test(0, [], [], f.tensor(new Float32Array(7), [7])); // what it expects is nobody's parameter
  put('layers.rush', f.bytes());
  assert.deepEqual(cli('inspect', 'layers.rush', '--layers'), {
    status: 0,
    err: '',
    out: [
      'layer   parameters  bytes  weights',
      '(none)           3     28  steps int64[2], constant [3]',
      'net.fc       1,230  4,920  weight [30, 40], bias [30]',
      'all          1,233  4,948',
      '',
    ].join('\n'),
  });
});

test(
  'parameters are what PyTorch counts, however weights are stored, and ' +
    'belong to the line that takes what has no name',
  () => {
    const f = new RushFile();
    const int8 = f.tensor(new Int8Array(12), [3, 4], { name: 'a.weight' }),
      scales = f.tensor(new Float32Array(3), [3], { name: 'a.weight.scales' });
    const int4 = f.tensor(new Uint8Array(9), [3, 3]),
      factors = f.tensor(new Uint16Array(3), [3, 1], { dtype: 'float16' });
    const table = f.tensor(new Uint8Array(60), [5, 12]),
      bias = f.tensor(new Float32Array(3), [3], { name: 'a.bias' });
    const [low, high, none] = [f.float(-Infinity), f.float(Infinity), f.none()];
    f.method(
      'forward',
      {
        inputs: [
          { name: 'x', dtype: 'float32', shape: [2, 4] },
          { name: 'i', dtype: 'int64', shape: [3] },
        ],
        outputs: [{ name: 'y' }, { name: 'r' }],
        result: '(Tensor, Tensor)',
      },
      (m, x, i) => {
        m.at = f.source('net.py', 1, 0, 'a');
        const y = m.op('rush::linear_int8', [x, int8, scales, bias, low, high]);
        m.at = f.source('net.py', 2, 0, 'net.b');
        m.op('rush::linear_weights', [
          m.op('aten::cat', [m.op('prim::ListConstruct', [y, y], 'Tensor[]'), f.int(1)]),
          int4,
          factors,
          none,
          none,
          f.int(4),
          f.int(6),
          f.int(32),
          low,
          high,
          f.int(16),
        ]);
        m.at = f.source('net.py', 3, 0, 'rows');
        return m.op(
          'prim::TupleConstruct',
          [y, m.op('rush::embedding_rows', [table, i, none, none, none, f.int(8), f.bool(false)])],
          '(Tensor, Tensor)',
        );
      },
    );
    put('few.rush', f.bytes());
    assert.deepEqual(cli('inspect', 'few.rush', '--layers').out.split('\n'), [
      'layer  parameters  bytes  weights',
      'a              15     36  weight int8[3, 4], weight.scales [3], bias [3]',
      'net.b          18     15  constant uint8[3, 3], constant float16[3, 1]',
      'rows           20     60  constant uint8[5, 12]',
      'all            53    111',
      '',
    ]);
    const { out, err } = cli('inspect', 'few.rush', '--run', '--json');
    assert.deepEqual(
      JSON.parse(out)
        .layers.map((/** @type {any} */ l) => [l.layer, l.parameters, l.bytes])
        .filter((/** @type {any[]} */ row) => row[2]),
      [
        ['a', 15, 36],
        ['net.b', 18, 15],
        ['rows', 20, 60],
      ],
    );
    assert.equal(
      err,
      'x: float32 [2, 4], random numbers from -1 to 1\ni: int64 [3], random whole numbers from 0 to 4\n',
    );
    assert.equal(
      cli('run', 'few.rush', '-i', 'x=2x4', '-i', 'i=100').err,
      'x: float32 [2, 4], random numbers from -1 to 1\ni: int64 [100], random whole numbers from 0 to 4\n',
    );
  },
);

test('--output FILE.npy is a file, for a model that gives one tensor', () => {
  assert.equal(cli('run', 'flip.rush', '--input', 'x=x.npy', '--output', 'o.npy').status, 0);
  assert.deepEqual(readNpy(get('o.npy')), { ...x, data: Float32Array.of(2, 1, 4, 3) });
  assert.deepEqual(cli('run', 'loop.rush', '--method', 'half', '--input', 'v=1', '--output', 'v.npy'), {
    status: 2,
    out: '',
    err: 'rushlight: --output v.npy holds one tensor, and the model gives v: give a folder, or FILE.safetensors\n',
  });
  assert.ok(!existsSync(join(dir, 'v.npy')));
});

test('--version', () => {
  assert.deepEqual(cli('--version'), {
    status: 0,
    err: '',
    out: `rushlight ${JSON.parse(readFileSync(new URL('../../js/package.json', import.meta.url), 'utf8')).version}\n`,
  });
});

test('inspect --device webgpu says where operators may run', () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2, 3] }], outputs: ['y'] }, (m, x) => {
    const t = m.op('aten::t', [m.op('aten::cumsum', [x, f.int(0), f.none()])]);
    return m.op('aten::relu_', [m.op('aten::relu', [t])]);
  });
  put('places.rush', f.bytes());
  assert.deepEqual(cli('inspect', 'places.rush', '--device', 'webgpu').out.split('\n'), [
    'operator      uses  where it runs',
    'aten::relu       1  on the GPU, for tensors in float32',
    'aten::relu_      1  on the GPU, for tensors in float32',
    'aten::cumsum     1  on the CPU, which needs its tensors in memory',
    'aten::t          1  reads no elements, on either',
    '                 4',
    '',
  ]);
  assert.deepEqual(
    JSON.parse(cli('inspect', 'places.rush', '--device', 'webgpu', '--json').out).map(
      (/** @type {{ device: string }} */ { device }) => device,
    ),
    ['cpu', 'none', 'webgpu', 'webgpu'],
  );
});

test('inspect --run is a table of the operators in their order, with shapes, parameters and times', () => {
  const f = new RushFile();
  const w = f.tensor(new Float32Array(6), [2, 3], { name: 'net.fc.weight' }),
    b = f.tensor(new Float32Array(3), [3], { name: 'net.fc.bias' });
  f.method(
    'forward',
    {
      inputs: [
        { name: 'x', dtype: 'float32', shape: [1, 2] },
        { name: 'n', type: 'int' },
      ],
      outputs: ['y'],
    },
    (m, x, n) => {
      const y = m.op('aten::mm', [x, w]);
      return m.loop(n, [y], (_, v) => [m.op('aten::add.Tensor', [v, b, f.int(1)])])[0];
    },
  );
  put('steps.rush', f.bytes());
  const { status, out, err } = cli('inspect', 'steps.rush', '--input', 'n=3', '--input', 'x=4x2');
  assert.deepEqual([status, err], [0, 'x: float32 [4, 2], random numbers from -1 to 1\n']);
  const rows = out
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/).filter((cell) => !/^[\u2588-\u258f]+$/.test(cell)));
  assert.deepEqual(
    rows.map((row) => row.map((cell) => (/^\d+\.\d+$/.test(cell) ? 'time' : cell))),
    [
      ['layer', 'operator', 'output', 'parameters', 'bytes', 'ms', '%'],
      ['-', 'mm', '[4, 3]', '6', '24', 'time', 'time'],
      ['-', 'add.Tensor x3', '[4, 3]', '3', '12', 'time', 'time'],
      ['all', '9', '36', 'time'],
      [rows.at(-1)?.[0]],
    ],
  );
  assert.match(out, /\nms: medians of 5 runs; a first run took \d+\.\d+ ms\n$/);

  const { layers, inputs, backend } = JSON.parse(cli('inspect', 'steps.rush', '--run', '--json').out);
  assert.deepEqual([Object.keys(inputs), /^(simd|relaxed)$/.test(backend)], [['x', 'n'], true]);
  assert.deepEqual(
    layers.map((/** @type {any} */ { op, outputs, calls, parameters }) => [op, outputs, calls, parameters]),
    [
      ['aten::mm', ['float32 [1, 3]'], 1, 6],
      ['aten::add.Tensor', ['float32 [1, 3]'], 1, 3],
    ],
  );
  assert(
    layers.every((/** @type {any} */ { ms, firstMs, share }) => ms >= 0 && firstMs >= 0 && share >= 0 && share <= 1),
  );
  const open = cli('inspect', 'flip.rush', '--run');
  assert.deepEqual(
    [open.status, open.out, open.err],
    [2, '', 'rushlight: inspect needs --input x=VALUE, for example --input x=8x2:float32\n'],
  );
});

test('inspect --run says what the integers of quantized tensors stand for', () => {
  const f = new RushFile(),
    scales = f.tensor(Float64Array.of(0.5, 0.25), [2]),
    zeros = f.tensor(BigInt64Array.of(0n, 0n), [2]);
  f.method('forward', { inputs: [{ name: 'x', dtype: 'float32', shape: [2, 3] }], outputs: ['y'] }, (m, x) => {
    m.op('aten::quantize_per_channel', [x, scales, zeros, f.int(0), f.int(12)]);
    return m.op('aten::dequantize.self', [m.op('aten::quantize_per_tensor', [x, f.float(1 / 3), f.int(7), f.int(13)])]);
  });
  put('quantized.rush', f.bytes());
  const { status, out, err } = cli('inspect', 'quantized.rush', '--run');
  assert.deepEqual([status, err], [0, 'x: float32 [2, 3], random numbers from -1 to 1\n']);
  assert.match(out, /quantize_per_channel +qint8 \[2, 3\] \(2 scales along dimension 0\) /);
  assert.match(out, /quantize_per_tensor +quint8 \[2, 3\] \(scale 0\.3333, zero point 7\) /);
});

const terminal = { skip: spawnSync('script', ['--version']).error && 'there is no script(1), which makes a terminal' };
/** The arguments of script(1) that run a command on a terminal. @param {string[]} args */
const onTerminal = (...args) => ['-qec', [process.execPath, bin, ...args].join(' '), '/dev/null'];

test('a terminal shows the progress of a download', terminal, async () => {
  const file = get('flip.rush'),
    half = file.length >> 1;
  /** @type {import('node:http').ServerResponse | undefined} */ let response;
  const server = createServer((_, res) => {
    response = res.setHeader('content-length', file.length);
    response.write(file.subarray(0, half));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/m.rush`;
  const child = spawn('script', onTerminal('run', url, '--input', 'x=[1,2]'), {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 120_000, // ends a wait for a text that never comes
  });
  let out = '';
  child.stdout.on('data', (text) => {
    out += text;
    if (out.includes(`${(half / 1e3).toFixed(1)} kB of`)) response?.end(file.subarray(half)); // the rest waits for it
  });
  await new Promise((done) => child.on('close', done));
  server.closeAllConnections();
  server.close();
  const total = `${(file.length / 1e3).toFixed(1)} kB`;
  assert(out.includes(`${total} of ${total}\r\x1b[Ky: float32 [1, 2]  2 1`), out);
});

test('bench draws its progress on a terminal, and nowhere else', terminal, () => {
  const bench = ['bench', 'flip.rush', '--input', 'x=x.npy', '--runs', '3', '--backend', 'simd'];
  assert.equal(cli(...bench).err, '');
  const { stdout } = spawnSync('script', onTerminal(...bench), {
    cwd: dir,
    encoding: 'utf8',
  });
  assert.match(stdout, /\r\x1b\[Ksimd \u2588{8}\u2591{16} 1\/3 [^]*\r\x1b\[Ksimd \u2588{24} 3\/3 /);
  assert.match(stdout, /3\/3 [^\n]*\r\x1b\[K\x1b\[1msimd: median [^\n]*\x1b\[22m; first /);
});

test('--cache keeps what an address gives', async () => {
  let asked = 0;
  const server = createServer((_, res) => {
    asked++;
    res.setHeader('etag', '"1"').end(get('flip.rush'));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/m.rush`;
  const run = () =>
    new Promise((done) => {
      const child = spawn(process.execPath, [bin, 'run', url, '--cache', '--input', 'x=[1,2]'], {
        env: { ...process.env, RUSHLIGHT_CACHE: join(dir, 'cache') },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let out = '';
      child.stdout.on('data', (text) => {
        out += text;
      });
      child.on('close', () => done(out));
    });
  assert.equal(await run(), 'y: float32 [1, 2]  2 1\n');
  await new Promise((done) => {
    server.close(done);
    server.closeAllConnections();
  });
  assert.equal(await run(), 'y: float32 [1, 2]  2 1\n');
  assert.equal(asked, 1);
});

test("inspect --graph and --code show PyTorch's own texts, and say where there are none", () => {
  const f = flipFile();
  f.text('', 'graph', 'graph(%self, %x):\n');
  f.text('', 'code', 'def forward(self, x):\n');
  f.text('layer:step', 'code', 'def step(self):\n');
  f.text('', 'tree', 'RecursiveScriptModule(original_name=Flip)');
  put('texts.rush', f.bytes());
  assert.equal(
    cli('inspect', 'texts.rush', '--code').out,
    'RecursiveScriptModule(original_name=Flip)\n\n# forward\ndef forward(self, x):\n\n# layer.step\ndef step(self):\n',
  );
  assert.match(cli('inspect', 'texts.rush', '--graph').out, /# forward\ngraph\(%self, %x\):/);
  assert.match(cli('inspect', 'flip.rush', '--code').out, /without source lines/);
});

test('a reader that stops early, like head, ends it without an error', async () => {
  const child = spawn(process.execPath, [bin, 'inspect', 'flip.rush'], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  const status = await new Promise((resolve) => child.on('close', resolve));
  assert.deepEqual({ status, err }, { status: 0, err: '' });
});

test('run reads and writes .safetensors', () => {
  assert.equal(cli('run', 'flip.rush', '--input', 'in.safetensors', '--output', 'out.safetensors').status, 0);
  assert.deepEqual(readSafetensors(get('out.safetensors')).y?.data, Float32Array.of(2, 1, 4, 3));
  assert.equal(cli('run', 'flip.rush', '-i', 'x=in.safetensors').out, 'y: float32 [2, 2]  2 1 4 3\n');
});

test('run takes numbers, JSON and shapes as inputs', () => {
  assert.match(cli('run', 'loop.rush', '-i', 'x=@x.npy', '-i', 'n=5').out, /^y: float32 \[2, 2\] {2}3 4 1 2$/m);
  assert.match(cli('run', 'flip.rush', '-i', 'x=[1,2]').out, /2 1/);
  assert.equal(cli('run', 'flip.rush', '-i', 'x=[[1,2],[3,4]]').out, 'y: float32 [2, 2]  2 1 4 3\n');
  const vector = new RushFile();
  vector.method('forward', { inputs: [{ name: 'v', dtype: 'float32', shape: [null] }] }, (_, v) => v);
  put('vector.rush', vector.bytes());
  for (const size of ['3:float32:5..5', '3'])
    assert.match(cli('run', 'vector.rush', '-i', `v=${size}`).out, /^y: float32 \[3\] /, size);
  assert.match(
    cli('run', 'loop.rush', '-i', 'x=3x4:int64:5..6', '-i', 'n=1').out,
    /^y: int64 \[3, 4\] {2}5 5 5 5 5 5 \.\.\.$/m,
  );
  assert.equal(cli('run', 'loop.rush', '--method', 'half', '-i', 'v=2.5', '-i', 's=text').out, 'v: 2.5\n');
  assert.equal(cli('run', 'loop.rush', '--method', 'half', '-i', 'v=-inf').out, 'v: "-Infinity"\n');
});

test('run --json prints the whole answer', () => {
  assert.deepEqual(JSON.parse(cli('run', 'flip.rush', '-i', 'x=x.npy', '--json').out), {
    y: { dtype: 'float32', shape: [2, 2], data: [2, 1, 4, 3] },
  });
});

test('inspect shows the file as text and as JSON', () => {
  assert.match(cli('inspect', 'flip.rush').out, /x : Tensor float32\[\?, 2\]/);
  const info = JSON.parse(cli('inspect', 'flip.rush', '--json').out);
  assert.deepEqual(info.inputs, [{ name: 'x', type: 'Tensor', dtype: 'float32', shape: [null, 2], optional: false }]);
});

test('verify exits with 0 where every answer is the expected one, and with 1 where not', () => {
  const good = cli('verify', 'good.rush');
  assert.equal(good.status, 0, good.out + good.err);
  assert.equal(good.out.match(/as expected, max abs 0\.00e\+0/g)?.length, hasRelaxed() ? 2 : 1);
  const bad = cli('verify', 'bad.rush', '--backend', 'simd');
  assert.equal(bad.status, 1);
  assert.match(bad.out, /simd: test 0: as expected.*\nsimd: test 1: differs: /);
  assert.equal(JSON.parse(cli('verify', 'bad.rush', '--backend', 'simd', '--json').out).simd.tests.length, 2);
  const none = cli('verify', 'flip.rush', '--backend', 'simd');
  assert.deepEqual([none.status, none.out], [1, 'flip.rush holds no test vectors: nothing was verified\n']);
});

test("verify and run compute operators of the user's with the functions of a module", () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'x' }] }, (m, a) =>
    m.op('my_ops::twice', [a], 'Tensor', 'my_ops::twice(Tensor x, float by=2.0) -> Tensor'),
  );
  f.test(0, [f.tensor(Float32Array.of(1, 2), [2])], ['Tensor'], f.tensor(Float32Array.of(2, 4), [2]));
  put('twice.rush', f.bytes());
  const times = (/** @type {string} */ n) =>
    new TextEncoder().encode(
      `export default { 'my_ops::twice': async (x, by) => ({ ...x, data: x.data.map((v) => v * ${n}) }) };`,
    );
  put('twice.mjs', times('by'));
  put('thrice.mjs', times('3'));
  put('none.mjs', new TextEncoder().encode('export const x = 1;'));
  assert.match(
    cli('verify', 'twice.rush').err,
    /^rushlight: the model needs 1 operator that this runtime lacks: my_ops::twice\n/,
  );
  const good = cli('verify', 'twice.rush', '--ops', 'twice.mjs', '--backend', 'simd');
  assert.deepEqual(good, {
    status: 0,
    out: 'simd: test 0: as expected, max abs 0.00e+0, max rel 0.00e+0 over 2 numbers\n',
    err: '',
  });
  const bad = cli('verify', 'twice.rush', '--ops', 'thrice.mjs', '--backend', 'simd');
  assert.deepEqual(bad, {
    status: 1,
    out:
      'simd: test 0: differs: test vector 0: result: expected 2, got 3 (greatest ' +
      'difference 2, rtol 0.0001, atol 1e-05)\n',
    err: '',
  });
  assert.equal(cli('run', 'twice.rush', '--ops', 'twice.mjs', '-i', 'x=x.npy').out, 'y: float32 [2, 2]  2 4 6 8\n');
  assert.match(
    cli('run', 'twice.rush', '--ops', 'none.mjs').err,
    /^rushlight: none\.mjs exports no operators: export default/,
  );
  assert.match(cli('run', 'twice.rush', '--ops', 'missing.mjs').err, /^rushlight: cannot import missing\.mjs: /);
});

test('bench prints latency and operators', () => {
  const { out, status, err } = cli('bench', 'flip.rush', '-i', 'x=64x2', '--runs', '3', '--backend', 'simd');
  assert.equal(status, 0, err);
  assert.match(out, /^simd: median \d+\.\d\d ms, min \d+\.\d\d ms of 3 runs; first .* peak \d+\.\d kB/);
  assert.match(out, /aten::flip +1 call +\d+\.\d\d ms +100\.0 %/);
  const [json] = JSON.parse(
    cli('bench', 'flip.rush', '-i', 'x=64x2', '--runs', '2', '--backend', 'simd', '--json').out,
  );
  assert.deepEqual([json.backend, json.threads], ['simd', 1]);
  assert.match(
    cli('bench', 'flip.rush', '-i', 'x=64x2', '--runs', '1', '--backend', 'simd', '--threads', '2').out,
    /^simd, 2 threads: median .* of 1 run;/,
  );
  assert(json.minMs <= json.medianMs);
});

test('failures are one sentence and an exit code', () => {
  const f = new RushFile();
  f.method('forward', { inputs: [{ name: 'd', type: 'Dict(str, Tensor)' }] }, (m, d) =>
    m.op('aten::len.Dict_str', [d], 'int'),
  );
  put('dict.rush', f.bytes());
  const rows = /** @type {[string[], number, RegExp][]} */ ([
    [['run', 'no.rush'], 1, /^rushlight: cannot read no\.rush: no such file or directory\n$/],
    [['run', 'x.npy'], 1, /^rushlight: x\.npy: not a \.rush file.*\n$/],
    [['run', 'flip.rush'], 2, /^rushlight: run needs --input x=VALUE, for example --input x=8x2:float32\n$/],
    [
      ['run', 'dict.rush'],
      2,
      /^rushlight: run needs --input d=VALUE, a Dict\(str, Tensor\) in JSON, where a tensor is \{"dtype": .*\n$/,
    ],
    [['run', 'flip.rush', '-i', 'y=5'], 2, /^rushlight: forward: there is no input "y"; known: x\n$/],
    [['run', 'flip.rush', '-i', 'x=no.npy'], 1, /^rushlight: cannot read no\.npy: no such file or directory\n$/],
    [['run', 'flip.rush', '-i', 'x'], 2, /^rushlight: --input must be NAME=VALUE, got "x"; the inputs are x\n$/],
    [['run', 'flip.rush', '-i', 'x={'], 2, /^rushlight: --input x must be a .*, got \{\n$/],
    [['run', 'flip.rush', '-i', 'x=2x2:float8'], 2, /no dtype "float8"/],
    [['run', 'flip.rush', '-i', 'q=in.safetensors'], 2, /has no tensor "q"; it has x/],
    [['run', 'loop.rush', '--method', 'back'], 2, /^rushlight: there is no method "back"; known: forward, half\n$/],
    [['run', 'flip.rush', '-i', 'x=x.npy', '--backend', 'gpu'], 2, /no backend "gpu"/],
    [
      ['bench', 'flip.rush', '--backend', 'simd'],
      2,
      /^rushlight: bench needs --input x=VALUE, for example --input x=8x2:float32\n$/,
    ],
    [['bench', 'flip.rush', '--runs', '0'], 2, /--runs must be an integer/],
    [['inspect', 'flip.rush', '--device', 'auto'], 2, /inspect: --device must be webgpu, got "auto"/],
    [['bench', 'flip.rush', '--device', 'tpu'], 2, /--device must be cpu, webgpu or auto, got "tpu"/],
    [['bench', 'flip.rush', '--threads', 'two'], 2, /--threads must be auto or an integer between 1 and 64, got "two"/],
    [
      ['run', 'loop.rush', '-i', 'x=x.npy', '-i', 'n=5', '--max-steps', '10'],
      1,
      /^rushlight: forward, instruction \d+ .*: the run exceeds its limit of 10 instructions/,
    ],
    [['verify', 'good.rush', '--max-bytes', '1000'], 1, /^rushlight: .*out of memory/],
    [
      ['diff', 'flip.rush', '--max-steps=-1'],
      2,
      /^rushlight: --max-steps must be an integer of at least 1, got "-1"\n$/,
    ],
    [['slim', 'flip.rush'], 2, /^rushlight: slim needs a folder/],
    [['serve', 'flip.rush', '--port', '-x'], 2, /--port/],
    [
      ['run', 'flip.rush', '-i', 'x=3x3:float32', '-o', '/nowhere/x.npy'],
      1,
      /^rushlight: ENOENT: no such file or directory/m,
    ],
    [['--json'], 2, /^rushlight: a command is missing.*\n$/],
    [
      ['fly'],
      2,
      /^rushlight: there is no command "fly"; npx rushlight has run, inspect, verify, diff, bench, types, serve, chat, slim and cache/,
    ],
    [
      ['export', 'm.pt'],
      2,
      /^rushlight: export is a command of the exporter's program, rushlight without npx; see npx rushlight --help\n$/,
    ],
    [['run'], 2, /^rushlight: run needs a file; see/],
    [['run', 'a', 'b'], 2, /takes one file/],
    [['run', 'flip.rush', '--wings'], 2, /^rushlight: Unknown option '--wings'; see npx rushlight --help\n$/],
    [['inspect', 'flip.rush', '--runs', '3'], 2, /inspect has no option --runs/],
  ]);
  for (const [args, code, message] of rows) {
    const { status, err } = cli(...args);
    assert.match(err, message, args.join(' '));
    assert.equal(status, code, args.join(' '));
  }
});

test('each command has its own help, with its options and examples', () => {
  const { out } = cli('--help');
  const commands = [...out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = '']) => name);
  assert.deepEqual(commands, ['run', 'inspect', 'verify', 'diff', 'bench', 'types', 'serve', 'chat', 'slim', 'cache']);
  for (const command of commands) {
    const help = cli(command, '--help');
    assert.equal(help.status, 0);
    assert.match(help.out, new RegExp(`^usage: npx rushlight ${command} `));
    assert.match(help.out, new RegExp(`^  npx rushlight ${command} `, 'm'));
    assert.equal(cli('help', command).out, help.out);
  }
  assert.match(cli('run', '--help').out, /^ {2}--output DIR/m);
  assert.doesNotMatch(cli('types', '--help').out, /--threads/);
  assert.doesNotMatch(cli('run', '--help').out, /--port/);
});

test('run, inspect --run and bench begin with the first test vector of the file', () => {
  const note = 'x: from the first test vector of the file\n';
  assert.deepEqual(cli('run', 'good.rush'), { status: 0, out: 'y: float32 [1, 2]  2 1\n', err: note });
  assert.deepEqual(cli('run', 'good.rush', '-i', 'x=x.npy').err, '');
  assert.equal(cli('inspect', 'good.rush', '--run').err, note);
  assert.equal(cli('bench', 'good.rush', '--runs', '1', '--backend', 'simd').err, note);
  // A gap in a storage, storages that repeat bytes, every kind of value, and numbers that the file describes by a seed.
  const f = new RushFile();
  const types = ['Tensor', 'int', 'float', 'bool', 'str', 'int[]', 'Dict(str, Tensor)', 'Tensor', 'Tensor', 'Tensor'];
  f.method(
    'forward',
    {
      inputs: types.map((type, i) => ({ name: `i${i}`, type })),
      outputs: types.map((type, i) => ({ name: `o${i}`, type })),
      result: `(${types.join(', ')})`,
    },
    (m, ...inputs) => m.op('prim::TupleConstruct', inputs, `(${types.join(', ')})`),
  );
  const given = [
    f.tensor(Int16Array.of(1, 2, 3, 4, 5, 6), [2, 2], { strides: [1, 3], offset: 1 }),
    f.int(-7),
    f.float(0.25),
    f.bool(true),
    f.str('wörd'),
    f.ints([1, 2]),
    f.container('dict', 'Dict(str, Tensor)', [f.str('a'), f.tensor(BigInt64Array.of(9n), [])]),
    f.random('float32', [3], 5, -1, 2),
    f.tensor(Float32Array.of(1, -2), [2, 2], { strides: [1, 3], offset: 1, storageBytes: 24, uniform: true }),
    f.tensor(Float64Array.of(0.5), [3], { dtype: 'complex128', storageBytes: 48, uniform: true }),
  ];
  f.test(0, given, types, f.container('tuple', `(${types.join(', ')})`, given));
  put('kinds.rush', f.bytes());
  assert.equal(cli('verify', 'kinds.rush', '--backend', 'simd').status, 0);
  const { out } = cli('run', 'kinds.rush', '--json');
  const { o7, ...others } = JSON.parse(out);
  assert.deepEqual(others, {
    o0: { dtype: 'int16', shape: [2, 2], data: [2, 5, 3, 6] },
    o1: -7,
    o2: 0.25,
    o3: true,
    o4: 'wörd',
    o5: [1, 2],
    o6: { a: { dtype: 'int64', shape: [], data: [9] } },
    o8: { dtype: 'float32', shape: [2, 2], data: [-2, 1, 1, -2] },
    o9: { dtype: 'complex128', shape: [3], data: [0.5, 0.5, 0.5, 0.5, 0.5, 0.5] },
  });
  // The numbers are those of the runtime, which makes them of the same seed.
  assert.equal(o7.data.length, 3);
  for (const [dtype, low, high] of /** @type {const} */ ([
    ['float32', -1, 2],
    ['float64', 0, 1],
    ['int64', -5, 1000],
    ['uint8', 0, 200],
    ['bool', 0, 1],
  ])) {
    const make = (/** @type {(f: RushFile) => number} */ output) => {
      const g = new RushFile();
      g.method('forward', { inputs: [{ name: 'x' }] }, (_, x) => x);
      return g.test(0, [g.random(dtype, [2, 5], 77, low, high)], ['Tensor'], output(g), { rtol: 0, atol: 0 }).bytes();
    };
    put(
      'seed.rush',
      make((g) => g.int(0)),
    );
    const { y } = JSON.parse(cli('run', 'seed.rush', '--json').out);
    assert(new Set(y.data).size > 1);
    const { Array: Type } = DTYPES[dtype];
    const data = dtype === 'int64' ? BigInt64Array.from(y.data, BigInt) : Type.from(y.data);
    put(
      'seed.rush',
      make((g) => g.tensor(data, [2, 5], { dtype })),
    );
    assert.deepEqual(cli('verify', 'seed.rush', '--backend', 'simd').status, 0, dtype);
  }
});

test('cache lists and removes what --cache stored', async () => {
  const server = createServer((_, response) => response.setHeader('etag', '"1"').end(flipFile().bytes()));
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address()),
    url = `http://127.0.0.1:${port}/m.rush`;
  const env = { ...process.env, RUSHLIGHT_CACHE: join(dir, 'cached') };
  const tool = (/** @type {string[]} */ ...args) =>
    new Promise((done) => {
      const child = spawn(process.execPath, [...ending, bin, ...args], { cwd: dir, env });
      let said = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
      child.on('close', (code) => done([code, said]));
    });
  assert.deepEqual(await tool('cache'), [0, '0 models, 0.0 kB\n']);
  assert.equal((await tool('run', url, '--cache', '-i', 'x=x.npy')).at(0), 0);
  const [, listed] = await tool('cache', 'list');
  assert.match(listed, new RegExp(`^${url} {2}\\d+\\.\\d kB\\n1 model, \\d+\\.\\d kB\\n$`));
  assert.equal(JSON.parse((await tool('cache', 'list', '--json'))[1])[0].url, url);
  assert.match((await tool('cache', 'remove', `${url}x`))[1], /the cache has no model/);
  assert.match((await tool('cache', 'remove'))[1], /cache remove needs the URL/);
  assert.match((await tool('cache', 'fly'))[1], /must be followed by list, remove URL or clear, got "fly"/);
  assert.deepEqual(await tool('cache', 'remove', url), [0, '']);
  assert.deepEqual(await tool('cache', 'clear'), [0, '0 models, 0.0 kB\n']);
  server.closeAllConnections();
  server.close();
});

test('colors are for terminals', () => {
  const colored = (/** @type {Record<string, string>} */ env, /** @type {string[]} */ ...args) =>
    spawnSync(process.execPath, [...ending, bin, ...args], {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
  const verify = ['verify', 'bad.rush', '--backend', 'simd'];
  assert.match(
    colored({ FORCE_COLOR: '1' }, ...verify).stdout,
    /^\x1b\[32msimd: test 0: as expected.*\x1b\[39m\n\x1b\[31m/,
  );
  assert.match(colored({ FORCE_COLOR: '1' }, 'run', 'no.rush').stderr, /^\x1b\[31mrushlight:\x1b\[39m cannot read/);
  const table = colored({ FORCE_COLOR: '1' }, 'inspect', 'steps.rush', '--run').stdout.split('\n');
  assert.match(table[0] ?? '', /^\x1b\[1mlayer +operator +output +.*\x1b\[22m$/);
  assert.match(
    table[1] ?? '',
    /^- +\x1b\[36mmm\x1b\[39m +\x1b\[2m\[1, 3\]\x1b\[22m +6 .*\x1b\[32m[\u2588-\u258f]+\x1b\[39m$/,
  );
  assert.match(table[3] ?? '', /^\x1b\[1mall .*\x1b\[22m$/);
  for (const env of [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }])
    for (const args of [verify, ['inspect', 'steps.rush', '--layers'], ['inspect', 'steps.rush', '--run']])
      assert.doesNotMatch(colored(/** @type {Record<string, string>} */ (env), ...args).stdout, /\x1b/);
});

test('--help names every command', () => {
  const { status, out } = cli('--help');
  assert.equal(status, 0);
  for (const command of ['run', 'inspect', 'verify', 'diff', 'bench', 'types'])
    assert.match(out, new RegExp(`^  ${command} `, 'm'));
  assert(existsSync(bin));
});
