// The demos in Node: what goes in, what comes out, the server. Their pages: tests/browser/demo.test.mjs.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { difference } from '../../demo/shared/agreement.js';
import { decode } from '../../demo/shared/decode.mjs';
import { preprocess, top } from '../../demo/01-image-classifier/preprocess.js';
import { SemanticIndex } from '../../demo/02-semantic-search/search.js';
import { makeTokenizer } from '../../demo/02-semantic-search/tokenizer.js';
import { Chunker, Listener, RATES, chunks, stretches } from '../../demo/05-voice-activity/vad.js';
import { serve } from '../../demo/serve.mjs';
import { readWav } from '../../demo/shared/recording.js';
import { audioToTensor } from '../../js/src/media/audio.js';
import { load } from '../../js/src/index.js';
import { readNpy } from '../../js/src/media/npy.js';

const TOP = new URL('../../', import.meta.url);
const IMAGES = new URL('build/demo/01-image-classifier/', TOP);
const TEXTS = new URL('build/demo/02-semantic-search/', TOP);
const json = async (/** @type {URL} */ url) => JSON.parse(await readFile(url, 'utf8'));

execFileSync(fileURLToPath(new URL('demo/run', TOP)), ['--export'], { stdio: ['ignore', 'ignore', 'inherit'] });
const images = await json(new URL('manifest.json', IMAGES));
const texts = await json(new URL('manifest.json', TEXTS));
const SOUNDS = new URL('build/demo/05-voice-activity/', TOP);
const sounds = await json(new URL('manifest.json', SOUNDS));
const FOLDERS = ['01-image-classifier', '02-semantic-search', '05-voice-activity', '08-face-detection'];
// A wheel could not be had: answers mean nothing, agreement still does
const random = images.note || texts.note || false;
const tokenize = texts.note
  ? undefined
  : makeTokenizer(
      (await import(new URL('tokenizers.mjs', TEXTS).href)).Tokenizer,
      await json(new URL('tokenizer.json', TEXTS)),
      await json(new URL('tokenizer_config.json', TEXTS)),
    );

// ---- what goes in

test('the tokenizer gives the ids of the reference tokenizer', { skip: texts.note || false }, async () => {
  const rows = await json(new URL('wordpiece.json', import.meta.url));
  const wrong = rows.filter(
    (/** @type {[string, number[]]} */ [text, ids]) =>
      JSON.stringify(tokenize?.(text).slice(0, 255)) !== JSON.stringify(ids.slice(0, 255)),
  );
  assert.deepEqual(wrong, []);
});

test('a long text keeps both its special tokens', { skip: texts.note || false }, () => {
  const ids = tokenize?.('word '.repeat(1000)) ?? [];
  assert.equal(ids.length, 256);
  assert.equal(ids[0], 101);
  assert.equal(ids[255], 102);
});

test('a program says in one sentence what it cannot read', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'rush-demo-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const cut = join(dir, 'cut.png');
  writeFileSync(cut, Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));
  const rows = /** @type {[string, string[], number, RegExp][]} */ ([
    ['demo/01-image-classifier/run.mjs', ['no.jpg'], 1, /^cannot read no\.jpg: there is no such file\n$/],
    ['demo/01-image-classifier/run.mjs', [import.meta.filename], 1, /^.* is neither a PNG nor a JPEG\n$/],
    ['demo/01-image-classifier/run.mjs', [dir], 1, /^cannot read .*: it is a folder\n$/],
    ['demo/08-face-detection/run.mjs', [cut], 1, /^.*cut\.png is damaged: .*\n$/],
    ['demo/05-voice-activity/run.mjs', [import.meta.filename], 1, /^.* is not a WAV file of 16-bit samples\n$/],
    ['demo/09-speech-to-text/run.mjs', [import.meta.filename], 1, /^.* is not a WAV file of 16-bit samples\n$/],
    ['demo/serve.mjs', ['abc'], 2, /^a port is a number from 0 to 65535, not "abc": .*\n$/],
  ]);
  for (const [program, args, code, message] of rows) {
    const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(new URL(program, TOP)), ...args], {
      encoding: 'utf8',
    });
    assert.match(stderr, message);
    assert.equal(status, code);
  }
});

for (const { file } of images.samples) {
  const [name, kind] = file.split('.');
  test(`${file} becomes the tensor that torchvision and Pillow make`, async () => {
    const { data } = preprocess(await decode(new URL(`photos/${file}`, IMAGES)));
    const reference = readNpy(await readFile(new URL(`cases/${name}.image.npy`, IMAGES))).data;
    if (kind === 'png') return assert.deepEqual(Buffer.from(data.buffer), Buffer.from(reference.buffer));
    // Decoders of JPEG differ by a few of 256 levels.
    assert.ok(difference(data, reference).maxAbs <= 4 / 128);
  });
}

test('pictures of any shape become the tensor that torchvision and Pillow make', () => {
  const shapes = [
    [131, 500],
    [500, 131],
    [225, 224],
    [97, 61],
    [1500, 1001],
    [256, 256],
    [1, 1],
  ];
  const code = `import sys; sys.path[:0] = ['demo/01-image-classifier']
import effnet, numpy
from PIL import Image
noise = numpy.random.default_rng(0)
for width, height in ${JSON.stringify(shapes)}:
    image = Image.fromarray(noise.integers(0, 256, (height, width, 3), dtype=numpy.uint8))
    sys.stdout.buffer.write(image.convert('RGBA').tobytes())
    sys.stdout.buffer.write(effnet.preprocess(image).contiguous().numpy().tobytes())`;
  const out = execFileSync('python3', ['-c', code], { cwd: fileURLToPath(TOP), maxBuffer: 1 << 30 });
  let at = 0;
  const take = (/** @type {number} */ n) => new Uint8Array(out.subarray(at, (at += n))); // its own copy
  for (const [width, height] of shapes) {
    const data = take(width * height * 4);
    const reference = new Float32Array(take(3 * 224 * 224 * 4).buffer);
    assert.deepEqual(
      difference(preprocess({ data, width, height }).data, reference),
      { maxAbs: 0, maxRel: 0, close: true },
      `${width} x ${height}`,
    );
  }
});

// ---- what comes out

for (const folder of FOLDERS) {
  test(`${folder} agrees with PyTorch in the native runtime`, () => {
    const code = `import json, sys, numpy, torch, rushlight
folder = sys.argv[1]
manifest = json.load(open(folder + '/manifest.json'))
session = rushlight.load(folder + '/' + manifest['file'])
tensor = lambda file: torch.from_numpy(numpy.load(folder + '/' + file))
for case in manifest['cases']:
    inputs = {**{name: tensor(file) for name, file in case['inputs'].items()}, **case.get('numbers', {})}
    if 'steps' in case:
        session.reset()
        steps = [session.run({**inputs, case['steps']: item}) for item in inputs[case['steps']]]
        outputs = {name: torch.stack([step[name] for step in steps]) for name in steps[0]}
    else:
        outputs = session.run(inputs)
    assert outputs.keys() == case['outputs'].keys()
    for name, file in case['outputs'].items():
        say = lambda m: case['name'] + ': ' + m
        torch.testing.assert_close(outputs[name], tensor(file), rtol=1e-4, atol=1e-5, msg=say)`;
    execFileSync('python3', ['-c', code, fileURLToPath(new URL(`build/demo/${folder}`, TOP))], { encoding: 'utf8' });
  });
}

/** @type {[string, string, string | undefined][]} */
const hosts = [['this Node', process.execPath, undefined]];
if (process.env.RUSH_NODE_CURRENT) {
  hosts.push(
    ['current Node, relaxed', process.env.RUSH_NODE_CURRENT, 'relaxed'],
    ['current Node, simd', process.env.RUSH_NODE_CURRENT, 'simd'],
  );
}
for (const folder of FOLDERS) {
  for (const [host, node, backend] of hosts) {
    test(`${folder} agrees with PyTorch in ${host}`, () => {
      const check = fileURLToPath(new URL('demo/shared/check.mjs', TOP));
      const args = [check, fileURLToPath(new URL(`build/demo/${folder}`, TOP)), ...(backend ? [backend] : [])];
      const result = JSON.parse(execFileSync(node, args, { encoding: 'utf8', maxBuffer: 1 << 28 }));
      if (backend) assert.equal(result.backend.name, backend);
      for (const { name, maxAbs, maxRel, close } of result.cases) {
        assert.ok(close, `${name}: max abs ${maxAbs}, max rel ${maxRel}`);
      }
    });
  }
}

test('photographs are named', { skip: random }, async () => {
  const classes = await json(new URL('classes.json', IMAGES));
  const model = await load(new URL(images.file, IMAGES));
  const expected = { chelsea: 'tiger cat', coffee: 'espresso', camera: 'tripod', rocket: 'missile' };
  for (const [name, want] of Object.entries(expected)) {
    const image = readNpy(await readFile(new URL(`cases/${name}.image.npy`, IMAGES)));
    const { logits } = await model.run({ image });
    assert.equal(top(logits.data, classes)[0].name, want);
  }
  model.dispose();
});

test('speech is heard where people speak', async () => {
  const model = await load(new URL(sounds.file, SOUNDS));
  const listener = new Listener(model, 16000);
  const { rate, samples } = /** @type {any} */ (readWav(await readFile(new URL(sounds.sample, SOUNDS)), RATES));
  assert.equal(rate, 16000);
  const hear = async () => {
    const heard = [];
    for (const chunk of chunks(samples.subarray(0, 12 * rate), listener.size)) heard.push(await listener.hear(chunk));
    return heard;
  };
  const heard = await hear();
  const [first] = stretches(heard);
  assert.ok(Math.abs(first.from * 0.032 - sounds.begins) < 0.3, `speech from chunk ${first.from} on`);
  assert.notDeepEqual(await hear(), heard); // it remembers what came before
  await listener.reset();
  assert.deepEqual(await hear(), heard);
  model.dispose();
});

test('stretches of speech bridge short pauses and leave out clicks', () => {
  const heard = [...'..##########..##########......##....########'].map((c) => (c === '#' ? 0.9 : 0.1));
  assert.deepEqual(stretches(heard), [
    { from: 2, to: 24 },
    { from: 36, to: 44 },
  ]);
  assert.deepEqual(stretches([]), []);
});

test('a stream of any rate and block size becomes the same chunks', () => {
  const second = Float32Array.from({ length: 48000 }, (_, i) => Math.sin(i / 50));
  const all = (/** @type {number} */ block) => {
    const chunker = new Chunker(48000, 16000, 512),
      out = [];
    for (let i = 0; i < second.length; i += block) out.push(...chunker.push(second.subarray(i, i + block)));
    return out;
  };
  const whole = all(48000);
  assert.equal(whole.length, Math.floor(16000 / 512));
  assert.deepEqual(all(128), whole);
  assert.ok(Math.abs(whole[3][7] - Math.sin((3 * (3 * 512 + 7)) / 50)) < 1e-3);
  const resampled = audioToTensor(second, { from: 48000, sampleRate: 16000 }).data;
  whole.forEach((chunk, i) => assert.deepEqual(chunk, resampled.slice(i * 512, (i + 1) * 512)));
  const odd = new Chunker(44100, 16000, 256),
    tone = Float32Array.from({ length: 44100 }, (_, i) => Math.cos(i));
  const wanted = audioToTensor(tone, { from: 44100, sampleRate: 16000 }).data;
  let n = 0;
  for (let i = 0; i < tone.length; i += 333) {
    for (const chunk of odd.push(tone.subarray(i, i + 333))) assert.deepEqual(chunk, wanted.slice(256 * n, 256 * ++n));
  }
  assert.equal(n, 61);
});

test('a WAV file of any rate and number of channels is read for the model', () => {
  /** @param {number} rate @param {number[][]} frames */
  const wav = (rate, frames) => {
    const channels = frames[0].length,
      bytes = Buffer.alloc(44 + 2 * channels * frames.length);
    bytes.write('RIFF....WAVEfmt ', 'latin1');
    bytes.writeUInt32LE(16, 16);
    [1, channels].forEach((v, i) => bytes.writeUInt16LE(v, 20 + 2 * i));
    bytes.writeUInt32LE(rate, 24);
    bytes.writeUInt16LE(16, 34);
    bytes.write('data', 36, 'latin1');
    bytes.writeUInt32LE(bytes.length - 44, 40);
    frames.flat().forEach((v, i) => bytes.writeInt16LE(v, 44 + 2 * i));
    return readWav(bytes, RATES);
  };
  assert.deepEqual(wav(8000, [[16384], [-32768]]), { rate: 8000, samples: Float32Array.of(0.5, -1) });
  assert.deepEqual(
    wav(16000, [
      [16384, 0],
      [0, -32768],
    ]),
    { rate: 16000, samples: Float32Array.of(0.25, -0.5) },
  );
  const frames = Array.from({ length: 4410 }, (_, i) => Math.round(1e4 * Math.sin(i / 9)));
  assert.deepEqual(
    wav(
      44100,
      frames.map((v) => [v, v]),
    ),
    {
      rate: 16000,
      samples: audioToTensor(
        Float32Array.from(frames, (v) => v / 32768),
        { from: 44100, sampleRate: 16000 },
      ).data,
    },
  );
});

test('sentences are near each other where their meaning is', { skip: random }, async () => {
  const model = await load(new URL(texts.file, TEXTS));
  const index = new SemanticIndex(model, /** @type {any} */ (tokenize));
  await index.add(['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.']);
  const dot = (/** @type {number} */ i, /** @type {number} */ j) => {
    let sum = 0;
    for (let k = 0; k < 384; k++) sum += index.vectors[i * 384 + k] * index.vectors[j * 384 + k];
    return sum;
  };
  for (const [i, j, published] of [
    [0, 1, 0.666],
    [0, 2, 0.1046],
    [1, 2, 0.1411],
  ]) {
    assert.ok(Math.abs(dot(i, j) - published) < 1e-4, `${i}, ${j}: ${dot(i, j)}`);
  }
  assert.equal((await index.search('traffic to the match', 1))[0].text, 'He drove to the stadium.');
  model.dispose();
});

// ---- the server

/** @type {Awaited<ReturnType<typeof serve>>} */
let server;
before(async () => {
  server = await serve(0);
});
after(() => server.close());

/**
 * fetch() would tidy the path first, and Node put its own name in the place of an empty Host.
 * @param {string} path
 * @param {{ Host?: string }} [headers]
 */
const get = (path, headers = {}) =>
  new Promise((resolve, reject) => {
    const { port } = new URL(server.url);
    request({ host: '127.0.0.1', port, path, headers, setHost: headers.Host === undefined }, (response) => {
      /** @type {Buffer[]} */
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () =>
        resolve({ code: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }),
      );
    })
      .on('error', reject)
      .end();
  });

test('the server stays inside its folders', async () => {
  for (const path of [
    '/README.md',
    '/.git/HEAD',
    '/demo/../LICENSE',
    '/demo/%2e%2e/LICENSE',
    '/demo/..%2fLICENSE',
    '/demo/%00',
    '/demo/%ff',
    '/js/nothing.js',
    '//etc/passwd',
    '/demo/....//etc',
  ]) {
    const { code, body } = await get(path);
    assert.equal(code, 404, `${path}: ${body}`);
  }
});

test('the server answers to this machine alone', async () => {
  for (const Host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', ''])
    assert.equal((await get('/demo/', { Host })).code, 403, Host);
  for (const Host of ['localhost:8080', '127.0.0.1', '[::1]:99'])
    assert.equal((await get('/demo/', { Host })).code, 200, Host);
});

test('the server knows types, ranges and what has not changed', async () => {
  const page = await get('/demo/');
  assert.equal(page.code, 200);
  assert.match(page.headers['content-type'], /^text\/html/);
  assert.equal((await get('/demo')).headers.location, '/demo/');
  assert.equal((await get('/demo/', { 'If-None-Match': page.headers.etag })).code, 304);
  const part = await get('/demo/serve.mjs', { Range: 'bytes=2-5' });
  assert.equal(part.code, 206);
  assert.equal(part.body.toString(), '/usr');
  const end = await get('/demo/serve.mjs', { Range: 'bytes=-1' });
  assert.equal(end.body.toString(), '\n');
  assert.equal((await get('/demo/serve.mjs', { Range: 'bytes=99999999-' })).code, 416);
  assert.match(part.headers['content-type'], /^text\/javascript/);
});
