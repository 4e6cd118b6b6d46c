// The demo pages in headless Chromium, as a visitor uses them: mouse, keyboard, phone, failures.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { agreementInPage, start } from '../../demo/shared/chromium.mjs';

const TOP = new URL('../../', import.meta.url);
const path = (/** @type {string} */ file) => fileURLToPath(new URL(file, TOP));

execFileSync(path('demo/run'), ['--export'], { stdio: ['ignore', 'ignore', 'inherit'] });
const manifest = (/** @type {string} */ folder) =>
  JSON.parse(readFileSync(path(`build/demo/${folder}/manifest.json`), 'utf8'));
const images = manifest('01-image-classifier');
const texts = manifest('02-semantic-search');
const sounds = manifest('05-voice-activity');
const faces = manifest('08-face-detection');
const words = manifest('07-text-generation/smollm2');
const speech = manifest('09-speech-to-text');

/** @type {Awaited<ReturnType<typeof start>>} */
let host;
before(async () => {
  host = await start();
});
after(() => host?.close());

/**
 * A page that fails the test where it logs an error.
 * @param {object} [options]
 * @param {(page: any) => Promise<void>} use
 */
async function withPage(use, options = {}) {
  const page = await host.newPage(options);
  /** @type {string[]} */
  const errors = [];
  page.on('pageerror', (/** @type {Error} */ error) => errors.push(error.message));
  page.on('console', (/** @type {any} */ message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  try {
    await use(page);
    return errors;
  } finally {
    await page.close();
  }
}

const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, colorScheme: 'dark' };
const noSideways = async (/** @type {any} */ page) =>
  assert.equal(
    await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
    0,
    'the page scrolls sideways',
  );
const pictureUrl = () => `${host.url}/demo/01-image-classifier/`;
const searchUrl = (query = '') => `${host.url}/demo/02-semantic-search/${query}`;
const shown = (/** @type {any} */ page) => page.waitForSelector('#time:not(:empty)');
const lines = (/** @type {any} */ page, /** @type {string} */ list) =>
  page.locator(`${list} li span:first-child`).allTextContents();

for (const [folder, { note }] of /** @type {[string, any][]} */ ([
  ['01-image-classifier', images],
  ['02-semantic-search', texts],
  ['05-voice-activity', sounds],
  ['07-text-generation', words],
  ['08-face-detection', faces],
  ['09-speech-to-text', speech],
])) {
  for (const backend of ['relaxed', 'simd']) {
    if (folder === '07-text-generation' && backend === 'simd') continue; // in Node; it is large
    test(`${folder} agrees with PyTorch in a page, ${backend}${note ? ', random weights' : ''}`, () =>
      withPage(async (page) => {
        await page.goto(`${host.url}/demo/`);
        const result = await agreementInPage(page, folder, { backend });
        assert.equal(result.backend.name, backend);
        for (const { name, maxAbs, maxRel, close } of result.cases) {
          assert.ok(close, `${name}: max abs ${maxAbs}, max rel ${maxRel}`);
        }
      }));
  }
}

test('the first page leads to the demos', async () => {
  const errors = await withPage(async (page) => {
    await page.goto(host.url);
    assert.equal(await page.locator('a.card').count(), 7);
    assert.equal(await page.locator('a.card > svg[aria-label]').count(), 7);
    await page.click('a.card >> nth=0');
    assert.match(page.url(), /01-image-classifier\/$/);
  });
  assert.deepEqual(errors, []);
});

/** The lines of a picture on the first page. @param {any} page @param {string} folder */
const drawn = (page, folder) => page.locator(`a[href="${folder}/"] svg text:not(#asked)`).allTextContents();
const values = (/** @type {any} */ page, /** @type {string} */ list) =>
  page.locator(`${list} li > span`).allTextContents();

test('the pictures on the first page show what the demos answer', { skip: images.note || texts.note || false }, () =>
  withPage(async (page) => {
    await page.goto(`${host.url}/demo/`);
    const [cup, found, asked] = [
      await drawn(page, '01-image-classifier'),
      await drawn(page, '02-semantic-search'),
      await page.textContent('#asked'),
    ];
    assert.ok(cup.length === 6 && found.length === 6);
    await page.goto(pictureUrl());
    await shown(page);
    await page.click('button[data-file="coffee.png"]');
    await page.waitForFunction(() => document.querySelector('#answer li')?.textContent?.startsWith('espresso'));
    assert.deepEqual((await values(page, '#answer')).slice(0, 6), cup);
    await page.goto(searchUrl(`?q=${encodeURIComponent(asked)}`));
    await shown(page);
    (await values(page, '#results'))
      .slice(0, 6)
      .forEach((/** @type {string} */ text, /** @type {number} */ i) =>
        assert.ok(text.startsWith(found[i].replace(/ …$/, '')), `${text}, not ${found[i]}`),
      );
  }),
);

test('a sample photograph is named, with times and the backend', { skip: images.note || false }, async () => {
  const errors = await withPage(
    async (page) => {
      await page.goto(pictureUrl());
      await shown(page);
      assert.equal((await lines(page, '#answer'))[0], 'tiger cat');
      assert.match(await page.textContent('#status'), /EfficientNet-Lite0, 1\d\.\d MB.*(relaxed|simd): /s);
      assert.match(await page.textContent('#time'), /Run in [\d.]+ ms/);
      await page.click('button[data-file="coffee.png"]');
      await page.waitForFunction(() => document.querySelector('#answer li')?.textContent?.startsWith('espresso'));
      assert.equal(await page.getAttribute('button[data-file="coffee.png"]', 'aria-pressed'), 'true');
      await page.click('#again');
      await page.waitForFunction(() => document.querySelector('#runs')?.textContent?.includes('median'));
    },
    { viewport: { width: 1100, height: 800 } },
  );
  assert.deepEqual(errors, []);
});

test("a page's answer to a photograph is PyTorch's", { skip: images.note || false }, () =>
  withPage(async (page) => {
    const classes = JSON.parse(readFileSync(path('build/demo/01-image-classifier/classes.json'), 'utf8'));
    const expected = { 'coffee.png': ['espresso', '95.1 %'], 'camera.png': ['tripod', '93.7 %'] };
    await page.goto(pictureUrl());
    await shown(page);
    for (const [file, [name, percent]] of Object.entries(expected)) {
      assert.ok(classes.includes(name));
      await page.setInputFiles('#file', path(`build/demo/01-image-classifier/photos/${file}`));
      await page.waitForFunction(
        (/** @type {string} */ n) => document.querySelector('#answer li')?.textContent?.startsWith(n),
        name,
      );
      assert.equal(await page.textContent('#answer li:first-child .value'), percent);
      // The same tensor as .npy, as Python made it.
      await page.setInputFiles('#file', path(`build/demo/01-image-classifier/cases/${file.split('.')[0]}.image.npy`));
      await page.waitForFunction(() => !document.querySelector('#time')?.textContent?.includes('prepared'));
      assert.equal(await page.textContent('#answer li:first-child .value'), percent);
    }
  }),
);

test('a picture can be dropped and pasted', { skip: images.note || false }, () =>
  withPage(async (page) => {
    await page.goto(pictureUrl());
    await shown(page);
    for (const [kind, file, want] of [
      ['drop', 'camera.png', 'tripod'],
      ['paste', 'coffee.png', 'espresso'],
    ]) {
      await page.evaluate(
        async (/** @type {string[]} */ [kind, file]) => {
          const blob = await (await fetch(`../../build/demo/01-image-classifier/photos/${file}`)).blob();
          const data = new DataTransfer();
          data.items.add(new File([blob], file, { type: 'image/png' }));
          dispatchEvent(
            kind === 'drop'
              ? new DragEvent('drop', { dataTransfer: data, cancelable: true })
              : new ClipboardEvent('paste', { clipboardData: data }),
          );
        },
        [kind, file],
      );
      await page.waitForFunction(
        (/** @type {string} */ n) => document.querySelector('#answer li')?.textContent?.startsWith(n),
        want,
      );
    }
  }),
);

test(
  'a file that is not a picture is refused in words, and the next picture works',
  { skip: images.note || false },
  () =>
    withPage(async (page) => {
      await page.goto(pictureUrl());
      await shown(page);
      await page.setInputFiles('#file', { name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('hello') });
      await page.waitForSelector('#answer .error');
      assert.match(await page.textContent('#answer'), /notes\.png is not a picture/);
      assert.equal(await page.textContent('#time'), ''); // of the picture before nothing stays
      assert.ok(await page.locator('#again').isDisabled());
      await page.setInputFiles('#file', {
        name: 'x.npy',
        mimeType: '',
        buffer: readFileSync(path('build/demo/02-semantic-search/cases/one.ids.npy')),
      });
      await page.waitForFunction(() =>
        document
          .querySelector('#answer .error')
          ?.textContent?.includes('(batched) input to conv2d, but got input of size: [1, '),
      );
      await page.click('button[data-file="camera.png"]');
      await page.waitForFunction(() => document.querySelector('#answer li')?.textContent?.startsWith('tripod'));
    }),
);

test('the picture page fits a phone and the keyboard', () =>
  withPage(async (page) => {
    await page.goto(pictureUrl());
    await shown(page);
    await noSideways(page);
    const order = [];
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press('Tab');
      order.push(await page.evaluate(() => document.activeElement?.id || document.activeElement?.tagName));
    }
    assert.ok(order.includes('file') && order.includes('again') && order.includes('BUTTON'), order.join(' '));
  }, PHONE));

test('a model that is not there is an error in words', () =>
  withPage(async (page) => {
    await page.route('**/*.rush', (/** @type {any} */ route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><p>Sorry' }),
    );
    await page.goto(pictureUrl());
    await page.waitForSelector('#status .error');
    assert.match(await page.textContent('#status'), /HTML|page/);
  }));

for (const folder of ['01-image-classifier', '02-semantic-search', '04-custom-operator', '05-voice-activity']) {
  test(`${folder} in a fresh clone says what to do first`, () =>
    withPage(async (page) => {
      await page.route('**/build/**', (/** @type {any} */ route) => route.fulfill({ status: 404 }));
      await page.goto(`${host.url}/demo/${folder}/`);
      await page.waitForSelector('#status .error');
      assert.match(await page.textContent('#status'), /Run \.\/dev demo first\.$/);
    }));
}

test('typing a query ranks sentences by meaning', { skip: texts.note || false }, async () => {
  const errors = await withPage(
    async (page) => {
      await page.goto(searchUrl());
      await shown(page);
      assert.equal((await lines(page, '#results'))[0], 'The cat sleeps in the laundry basket whenever it is warm.');
      assert.match(await page.textContent('#status'), /MiniLM.*9\d\.\d MB.*(relaxed|simd): .*317, read in/s);
      await page.fill('#query', 'somebody else knows my secret login');
      await page.waitForFunction(() => document.querySelector('#results')?.textContent?.includes('password'));
      assert.match(page.url(), /q=somebody/);
      await page.click('text=losing money');
      await page.waitForFunction(() => document.querySelector('#results')?.textContent?.includes('Shares fell'));
      assert.match(await page.textContent('#time'), /Found in [\d.]+ ms: \d+ tokens/);
      await page.fill('#query', '');
      await page.waitForFunction(() => !document.querySelector('#results li'));
    },
    { viewport: { width: 1100, height: 800 } },
  );
  assert.deepEqual(errors, []);
});

test('the published similarities come out of the page', { skip: texts.note || false }, () =>
  withPage(async (page) => {
    await page.goto(searchUrl(`?q=${encodeURIComponent('The weather is lovely today.')}`));
    await shown(page);
    const found = await page.locator('#results li').allTextContents();
    assert.equal(found[0], 'The weather is lovely today.1.000');
    assert.equal(found[1], "It's so sunny outside!0.666");
    await noSideways(page);
  }, PHONE),
);

const soundUrl = () => `${host.url}/demo/05-voice-activity/`;

test('speech in the sample is heard as PyTorch hears it', async () => {
  const errors = await withPage(
    async (page) => {
      await page.goto(soundUrl());
      await page.waitForSelector('#agreement:not(:empty)');
      assert.match(await page.textContent('#agreement'), /^Agrees with PyTorch/);
      const [, spoken, all, chunks] = (await page.textContent('#time'))
        .match(/^Speech in ([\d.]+) of ([\d.]+) s\. (\d+) chunks of 32 ms, [\d.]+ ms each\.$/)
        .map(Number);
      assert.ok(
        spoken > (sounds.note ? 0.4 : 0.6) * all && // what stands in makes longer pauses
          spoken < 0.95 * all &&
          all > 20 &&
          Math.abs(chunks * 0.032 - all) < 0.1,
        `${spoken} of ${all} s, ${chunks} chunks`,
      );
      assert.ok(Math.abs(Number.parseFloat(await page.textContent('#stretches li >> nth=0')) - sounds.begins) < 0.3);
      assert.ok(await page.locator('#audio').isVisible());
      await page.click('#stretches button >> nth=0');
      await page.waitForSelector('#stretches [aria-current]');
      await page.waitForFunction(() => Number.parseInt(document.querySelector('#level')?.textContent ?? '') > 50);
      await page.evaluate(() => {
        const audio = /** @type {HTMLAudioElement} */ (document.querySelector('#audio'));
        audio.pause();
        /** @type {HTMLElement} */ (document.querySelector('#stretches button')).click();
        audio.pause(); // before it has begun to play
      });
      await page.setInputFiles('#file', { name: 'notes.wav', mimeType: 'audio/wav', buffer: Buffer.from('hello') });
      await page.waitForSelector('#time .error');
      assert.match(await page.textContent('#time'), /notes\.wav is not a recording/);
      assert.equal(await page.getAttribute('#picture', 'aria-label'), 'Nothing was heard');
      await page.click('#sample');
      await page.waitForSelector('#agreement:not(:empty)');
    },
    { viewport: { width: 1100, height: 800 } },
  );
  assert.deepEqual(
    errors.filter((e) => !e.includes('is not a recording')),
    [],
  );
});

test('where nothing can be downloaded, the voice page still has a recording, and speech in it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rushlight-demo-'));
  const code = `import sys; sys.path[:0] = ['demo/05-voice-activity']
import pathlib, export, speech, wheels
def missing(): raise wheels.Missing('no espeak-ng')
speech.espeak = missing
export.FOLDER = pathlib.Path(sys.argv[1])
export.main()`;
  execFileSync('python3', ['-c', code, folder], {
    cwd: path(''),
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, RUSH_NO_WHEELS: '1', RUSH_CACHE: join(folder, 'cache') },
  });
  const errors = await withPage(async (page) => {
    await page.route('**/build/demo/05-voice-activity/**', (/** @type {any} */ route) =>
      route.fulfill({ path: join(folder, new URL(route.request().url()).pathname.split('05-voice-activity/')[1]) }),
    );
    await page.goto(soundUrl());
    await page.waitForSelector('#agreement:not(:empty)');
    assert.match(await page.textContent('#status'), /Loudness takes its place\. .*Vowels of sine waves/);
    assert.ok(!/[0-9a-f]{8}|sha256/.test(await page.textContent('body')));
    await page.focus('#audio');
    await page.keyboard.press('Space');
    await page.waitForSelector('#stretches [aria-current]');
  });
  assert.deepEqual(errors, []);
  rmSync(folder, { recursive: true });
});

test('the microphone is heard, and stops', async () => {
  const errors = await withPage(async (page) => {
    // Chromium's own false microphone beeps; a steady tone of the page takes its place.
    await page.addInitScript(() => {
      navigator.mediaDevices.getUserMedia = async () => {
        const context = new AudioContext(),
          tone = context.createOscillator(),
          out = context.createMediaStreamDestination();
        tone.connect(out);
        tone.start();
        return out.stream;
      };
    });
    await page.goto(soundUrl());
    await page.waitForSelector('#microphone:enabled');
    await page.click('#microphone');
    await page.waitForFunction(() => document.querySelector('#meter')?.getAttribute('style')?.includes('--part'));
    assert.equal(await page.textContent('#microphone'), 'Stop listening');
    await noSideways(page);
    await page.click('#microphone');
    await page.waitForFunction(() => document.querySelector('#microphone')?.textContent === 'Listen to the microphone');
    assert.ok(await page.locator('#now').isHidden());
  }, PHONE);
  assert.deepEqual(errors, []);
});

test('a sample that arrives late does not end what was begun meanwhile', async () => {
  const errors = await withPage(async (page) => {
    /** @type {() => void} */ let release = () => {};
    const held = new Promise((resolve) => (release = () => resolve(undefined)));
    await page.route(`**/${sounds.sample}`, async (/** @type {any} */ route) => {
      await held;
      await route.continue();
    });
    await page.addInitScript(() => {
      navigator.mediaDevices.getUserMedia = async () => new AudioContext().createMediaStreamDestination().stream;
    });
    await page.goto(soundUrl());
    await page.click('#microphone:enabled');
    await page.waitForFunction(() => document.querySelector('#microphone')?.textContent === 'Stop listening');
    const arrived = page.waitForResponse((/** @type {any} */ r) => r.url().endsWith(sounds.sample));
    release();
    await (await arrived).finished();
    await page.evaluate(() => new Promise((next) => setTimeout(next, 100)));
    assert.equal(await page.textContent('#microphone'), 'Stop listening');
  });
  assert.deepEqual(errors, []);
});

// ---- text generation

const talkUrl = () => `${host.url}/demo/07-text-generation/`;

test('a question is answered as PyTorch answers it, with tokens per second', async () => {
  const errors = await withPage(
    async (page) => {
      const [{ question, text, answer, sure }] = words.cases;
      await page.goto(talkUrl());
      await page.click(`#examples button:has-text("${question}"):enabled`);
      await page.waitForSelector('.answer .facts:not(:empty)');
      assert.equal(await page.textContent('.asked'), question);
      if (!words.note && sure === answer.length) assert.equal(await page.textContent('.answer span'), text);
      assert.match(await page.textContent('.facts'), /^\d+ tokens: the first after \d+ ms, then [\d.]+ tokens\/s\.$/);
      assert.match(await page.textContent('#speed'), /^[\d.]+ tokens\/s$/);
      await page.click('#anew');
      assert.equal(await page.locator('#talk li').count(), 0);
    },
    { viewport: { width: 1280, height: 800 } },
  );
  assert.deepEqual(errors, []);
});

test('an answer that is being written can be stopped, on a phone', async () => {
  const errors = await withPage(async (page) => {
    await page.goto(talkUrl());
    await page.waitForSelector('#ask:enabled');
    await page.evaluate(() => {
      const stop = /** @type {any} */ (document.getElementById('stop'));
      new MutationObserver(() => {
        if (document.querySelector('.writing')?.textContent && !stop.hidden) stop.click();
      }).observe(/** @type {any} */ (document.getElementById('talk')), {
        childList: true,
        subtree: true,
        characterData: true,
      });
    });
    await page.fill('#question', 'Write a long story about the sea.');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.answer .facts:not(:empty)');
    assert.match(await page.textContent('.facts'), /^\d+ tokens?, stopped: the first after/);
    assert.ok((await page.isHidden('#stop')) && (await page.isVisible('#ask')));
    await page.click('summary');
    await noSideways(page);
  }, PHONE);
  assert.deepEqual(errors, []);
});

// ---- faces

const faceUrl = () => `${host.url}/demo/08-face-detection/`;

test('a face in a photograph is found where PyTorch finds it', { skip: faces.note || false }, async () => {
  const errors = await withPage(async (page) => {
    await page.goto(faceUrl());
    await page.click('button[data-file="astronaut.png"]');
    await page.waitForFunction(() => document.querySelector('#words')?.textContent === 'One face.');
    assert.deepEqual(await lines(page, '#answer'), ['88 × 111 at 180, 61']);
    await page.click('button[data-file="chelsea.png"]');
    await page.waitForFunction(() => document.querySelector('#words')?.textContent === 'No face.');
    assert.equal(await page.locator('#answer li').count(), 0);
    await page.setInputFiles('#file', { name: 'words.txt', mimeType: 'text/plain', buffer: Buffer.from('words') });
    await page.waitForSelector('#words .error');
    assert.equal(await page.textContent('#words'), 'words.txt is not a picture that this browser can read');
  }, PHONE);
  assert.equal(errors.length, 1, `${errors}`); // of the file that is not a picture
});

test('a visitor chooses the device, and the faces are the same', { skip: faces.note || false }, async () => {
  const errors = await withPage(async (page) => {
    await page.addInitScript(() => {
      // Without an adapter, and with the word that it is there
      Object.defineProperty(navigator, 'gpu', { value: { requestAdapter: async () => null } });
    });
    await page.goto(faceUrl());
    await page.click('button[data-file="astronaut.png"]');
    await page.waitForFunction(() => document.querySelector('#words')?.textContent === 'One face.');
    await page.selectOption('#device', 'auto');
    await page.waitForFunction(() =>
      /device 'auto' runs on the CPU/.test(document.querySelector('#status')?.textContent ?? ''),
    );
    await page.click('button[data-file="chelsea.png"]');
    await page.waitForFunction(() => document.querySelector('#words')?.textContent === 'No face.');
    await page.click('button[data-file="astronaut.png"]');
    await page.waitForFunction(() => document.querySelector('#words')?.textContent === 'One face.');
    assert.deepEqual(await lines(page, '#answer'), ['88 × 111 at 180, 61']);
    await noSideways(page);
  }, PHONE);
  assert.deepEqual(errors, []);
});

test('faces are found in a camera, until it is stopped', { skip: faces.note || false }, async () => {
  const errors = await withPage(async (page) => {
    await page.addInitScript(() => {
      navigator.mediaDevices.getUserMedia = async () => {
        const canvas = Object.assign(document.createElement('canvas'), { width: 512, height: 512 }),
          photo = new Image();
        photo.src = '/build/demo/08-face-detection/photos/astronaut.png';
        await photo.decode();
        const draw = () => {
          canvas.getContext('2d')?.drawImage(photo, 0, 0);
          requestAnimationFrame(draw);
        };
        draw();
        return canvas.captureStream();
      };
    });
    await page.goto(faceUrl());
    await page.click('button[data-file="chelsea.png"]');
    await page.waitForFunction(() => document.querySelector('#words')?.textContent === 'No face.');
    await page.click('#camera:enabled');
    await page.waitForFunction(() => document.querySelector('#words')?.textContent === 'One face.');
    assert.match(await page.textContent('#time'), /, in 320 × 320 pixels\.$/);
    assert.equal(await page.textContent('#camera'), 'Stop the camera');
    await page.click('#camera');
    await page.waitForFunction(() => document.querySelector('#camera')?.textContent === 'Start the camera');
    await page.evaluate(() => {
      const camera = /** @type {HTMLButtonElement} */ (document.querySelector('#camera'));
      for (let i = 0; i < 2; i++) camera.click(); // ends it before the camera has started
    });
    await page.waitForFunction(() => document.querySelector('#camera')?.textContent === 'Start the camera');
    assert.equal(await page.locator('.error').count(), 0);
    await noSideways(page);
  });
  assert.deepEqual(errors, []);
});

// ---- speech to text

const speechUrl = () => `${host.url}/demo/09-speech-to-text/`;

test(
  'a recording is written down as transformers does it, and words play',
  { skip: speech.note || false },
  async () => {
    const errors = await withPage(async (page) => {
      await page.goto(speechUrl());
      await page.waitForSelector('#agreement:not(:empty)');
      assert.match(
        await page.textContent('#agreement'),
        /^The words are those of transformers, and begin at most 0\.0\d s from its times\.$/,
      );
      const spoken = speech.words.map((/** @type {any} */ { text }) => text.trim());
      assert.deepEqual(await page.locator('#words button').allTextContents(), spoken);
      await noSideways(page);
      const place = spoken.indexOf('wisdom,');
      await page.locator('#words button').nth(place).click();
      await page.waitForFunction(
        (/** @type {number} */ start) =>
          /** @type {HTMLAudioElement} */ (document.querySelector('#audio')).currentTime >= start &&
          document.querySelector('#words [aria-current]'),
        speech.words[place].start,
      );
      await page.setInputFiles('#file', { name: 'words.txt', mimeType: 'text/plain', buffer: Buffer.from('words') });
      await page.waitForSelector('#time .error');
      assert.equal(await page.textContent('#time'), 'words.txt is not a recording that this browser can read');
      assert.equal(await page.locator('#words button').count(), 0);
    }, PHONE);
    assert.equal(errors.length, 1, `${errors}`); // of the file that is not a recording
  },
);

test('what is said is written down while it is said', { skip: speech.note || false }, async () => {
  const errors = await withPage(async (page) => {
    await page.addInitScript((/** @type {string} */ sample) => {
      navigator.mediaDevices.getUserMedia = async () => {
        const context = new AudioContext(),
          source = context.createBufferSource(),
          out = context.createMediaStreamDestination();
        const file = await fetch(`/build/demo/09-speech-to-text/${sample}`);
        source.buffer = await context.decodeAudioData(await file.arrayBuffer());
        source.connect(out);
        source.start();
        return out.stream;
      };
    }, speech.sample);
    await page.goto(speechUrl());
    await page.click('#microphone:enabled'); // while the sample is transcribed
    // Words that will stay have no spaces between them, and those of a sentence before a pause stay at once.
    await page.waitForFunction(() => /best ?of ?times/.test(document.querySelector('#words')?.textContent ?? ''));
    assert.equal(await page.textContent('#microphone'), 'Stop listening');
    assert.match(await page.textContent('#time'), /^Each pass takes [\d.]+ ms\.$/);
    await page.click('#microphone');
    await page.waitForFunction(() => document.querySelector('#microphone')?.textContent === 'Listen to the microphone');
    assert.equal(await page.locator('#words .open').count(), 0);
    assert.equal(await page.textContent('#agreement'), '');
  });
  assert.deepEqual(errors, []);
});
