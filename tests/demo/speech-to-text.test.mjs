// demo/09-speech-to-text in Node: transformers' logits, words and times, from the whole recording and while it comes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { Captions } from '../../demo/09-speech-to-text/captions.js';
import { agreement } from '../../demo/shared/agreement.js';
import { readWav } from '../../demo/shared/recording.js';
import { load } from '../../js/src/index.js';
import { loadText } from '../../js/src/text/load-text.js';

const TOP = new URL('../../', import.meta.url);
const FOLDER = new URL('build/demo/09-speech-to-text/', TOP);
const RATE = 16000;

execFileSync(fileURLToPath(new URL('demo/run', TOP)), ['--export'], { stdio: ['ignore', 'ignore', 'inherit'] });
const manifest = JSON.parse(await readFile(new URL('manifest.json', FOLDER), 'utf8'));
const libraries = {
  tokenizers: await import(new URL('tokenizers.mjs', FOLDER).href),
  jinja: await import(new URL('jinja.mjs', FOLDER).href),
};
const { samples } = /** @type {any} */ (readWav(await readFile(new URL(manifest.sample, FOLDER)), [16000]));
const text = (/** @type {{ text: string }[]} */ words) => words.map((word) => word.text).join('');
const skip = manifest.note || false;

test("the logits are transformers'", async () => {
  const { cases } = await agreement({ load, read: (file) => readFile(new URL(file, FOLDER)), runs: 1 });
  assert.equal(cases.length, 1);
  for (const { close, maxAbs } of cases) assert.ok(close, `max abs ${maxAbs}`);
});

test("the native runtime's, too", () => {
  const code = `import json, sys, numpy, torch, rushlight
folder = sys.argv[1]
manifest = json.load(open(folder + '/manifest.json'))
session = rushlight.load(folder + '/' + manifest['file'])
for case in manifest['cases']:
    read = lambda key: torch.from_numpy(numpy.load(f"{folder}/cases/{case['name']}.{key}.npy"))
    session.call('encode', read('samples'))
    got = [session(token[None, None], torch.tensor(i)) for i, token in enumerate(read('tokens')[0])]
    torch.testing.assert_close(torch.cat(got), read('logits'), rtol=1e-4, atol=case['atol'])`;
  execFileSync('python3', ['-c', code, fileURLToPath(FOLDER)], { encoding: 'utf8' });
});

test('words and times are those of transformers', { skip }, async () => {
  const speech = await loadText(new URL(manifest.file, FOLDER), libraries);
  const { words } = await speech.transcribe(samples, { timestamps: 'word' });
  assert.deepEqual(
    words?.map((word) => word.text),
    manifest.words.map((/** @type {any} */ word) => word.text),
  );
  words?.forEach(({ text, start, end }, i) => {
    const wanted = manifest.words[i];
    const off = Math.max(Math.abs(start - wanted.start), Math.abs(end - wanted.end));
    assert.ok(off <= 0.05, `${text}: ${start} – ${end}`);
  });
  speech.dispose();
});

test('words are written while they are spoken', { skip }, async () => {
  const speech = await loadText(new URL(manifest.file, FOLDER), libraries);
  const captions = new Captions(speech),
    step = 2 * RATE;
  /** @type {import('../../demo/09-speech-to-text/captions.js').Heard} */ let heard = { certain: [], open: [] };
  let early = 0;
  for (let at = 0; at < samples.length; at += step) {
    captions.add(samples.subarray(at, at + step));
    const last = at + step >= samples.length,
      now = await captions.pass(last ? { last } : {});
    assert.deepEqual(now.certain.slice(0, heard.certain.length), heard.certain, 'a certain word stays');
    heard = now;
    if (!last) early = now.certain.length;
  }
  assert.equal(text(heard.certain), text(manifest.words));
  assert.deepEqual(heard.open, []);
  assert.ok(early > manifest.words.length / 2, `${early} words before the end`);
  speech.dispose();
});

test('sound before the first word and after a pause is left out', async () => {
  /** @type {number[]} */ const given = [];
  const transcribe = async (/** @type {Float32Array} */ sound) => {
    given.push(sound.length);
    return { words: [{ text: ' word', start: 0.1, end: 0.4 }] };
  };
  const captions = new Captions({ transcribe }),
    silence = new Float32Array(RATE),
    voice = Float32Array.from(silence, (_, i) => Math.sin(i / 9));
  captions.add(silence);
  assert.deepEqual(await captions.pass(), { certain: [], open: [] });
  captions.add(voice);
  assert.deepEqual(await captions.pass(), { certain: [], open: [{ text: ' word', start: 1.1, end: 1.4 }] });
  captions.add(silence);
  assert.deepEqual(await captions.pass(), { certain: [{ text: ' word', start: 1.1, end: 1.4 }], open: [] });
  captions.add(voice);
  assert.equal((await captions.pass()).open[0]?.start, 3.1);
  assert.deepEqual(given, [RATE, 2 * RATE, RATE]);
});
