// Projects made from the package as npm packs it: their folders, their tools, a server, a browser.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, createReadStream, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

const here = fileURLToPath(new URL('.', import.meta.url));
const top = fileURLToPath(new URL('../../', import.meta.url));
const LONG = 300_000; // ms: a limit for what never comes

/** Makes build/rushlight-VERSION.tgz; its path. */
export const pack = () =>
  join(top, execFileSync(`${top}dev`, ['package'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim());

/**
 * A folder for projects, with the package and the models of model.py.
 * @param {string} [within] where the tools are found
 */
export function workshop(within = tmpdir()) {
  const root = mkdtempSync(join(within, 'rush-projects-'));
  const installed = join(root, 'installed');
  mkdirSync(installed);
  writeFileSync(join(installed, 'package.json'), '{"private": true}');
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', pack()], {
    cwd: installed,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  execFileSync('python3', [`${here}model.py`, root], { stdio: ['ignore', 'ignore', 'inherit'] });
  return {
    root,
    model: join(root, 'digits.rush'),
    /**
     * A project: a folder of projects/, what all have, and the package.
     * @param {string} name
     * @param {string} [folder] of projects/
     */
    project(name, folder = name) {
      const dir = join(root, name);
      for (const file of ['check.js', 'page.js', 'index.html']) cpSync(`${here}projects/${file}`, join(dir, file));
      if (existsSync(`${here}projects/${folder}`)) cpSync(`${here}projects/${folder}`, dir, { recursive: true });
      if (!existsSync(join(dir, 'package.json')))
        writeFileSync(join(dir, 'package.json'), '{"private": true, "type": "module"}');
      cpSync(join(installed, 'node_modules'), join(dir, 'node_modules'), { recursive: true });
      return dir;
    },
    /** An example: a copy of its folder with the package. @param {string} name @param {string} [copy] */
    example(name, copy = `example-${name}`) {
      const dir = join(root, copy);
      cpSync(`${top}examples/${name}`, dir, { recursive: true });
      cpSync(join(installed, 'node_modules'), join(dir, 'node_modules'), { recursive: true });
      return dir;
    },
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Runs a program to its end; what it printed. @param {string} cwd @param {string[]} command @param {object} [env] */
export function run(cwd, [program, ...args], env = {}) {
  const { status, signal, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    timeout: LONG,
  });
  assert.equal(status, 0, `${basename(cwd)}: ${program} ${args.join(' ')}: ${signal ?? status}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Starts a server that prints its address. @param {string} cwd @param {string[]} command @param {object} [env] */
export async function begin(cwd, [program, ...args], env = {}) {
  const child = spawn(program, args, {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const ended = once(child, 'exit');
  const close = async () => {
    // And what it started
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  };
  let said = '';
  const url = await new Promise((resolve, reject) => {
    const take = (/** @type {Buffer} */ text) => {
      said += text;
      const found = /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(said.replace(/\x1b\[\d*m/g, ''));
      if (found) resolve(found[0]);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    ended.then(() => reject(new Error(`${basename(cwd)}: ${program} ${args.join(' ')} has ended:\n${said}`)));
  });
  return { url, close };
}

const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** What makes a page cross-origin isolated, so that its models may use threads. */
export const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * Serves a folder, to pages of any origin.
 * @param {string} dir
 * @param {Record<string, string>} [headers]
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function serve(dir, headers = {}) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '', 'http://localhost').pathname);
    const file = join(dir, normalize(path.endsWith('/') ? `${path}index.html` : path));
    response.setHeaders(new Map(Object.entries({ ...headers, 'Access-Control-Allow-Origin': '*' })));
    response.setHeader(
      'Content-Type',
      TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? 'application/octet-stream',
    );
    createReadStream(file)
      .on('error', () => response.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found'))
      .pipe(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://localhost:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Debian's Chromium. */
export const browser = () =>
  chromium.launch({
    executablePath: process.env.RUSH_CHROMIUM,
    timeout: LONG,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [], // its sandbox refuses root
  });

const RIGHT = { passed: true, compared: 20, shape: '3,10' };

/**
 * What check() gives where it works, in a worker and without.
 * @param {unknown[]} reports
 * @param {boolean} [threads] whether it was asked for two
 */
export const answers = (reports, threads) =>
  assert.deepEqual(
    reports,
    [RIGHT, RIGHT].map((right) => ({ ...right, ...(threads && { threads: 2, reason: '2 threads: as requested' }) })),
  );

/**
 * Opens a page of a project and waits for the name that its script sets. What goes wrong is in `errors`.
 * @param {import('playwright-core').Browser} chrome @param {string} url @param {string} name
 */
export async function openPage(chrome, url, name) {
  const page = await chrome.newPage();
  page.setDefaultTimeout(LONG);
  const seen = { workers: 0, errors: /** @type {string[]} */ ([]) };
  page.on('worker', () => {
    seen.workers++;
  });
  page.on('pageerror', (e) => seen.errors.push(e.message));
  page.on('requestfailed', (r) => seen.errors.push(`${r.url()}: ${r.failure()?.errorText}`));
  page.on('response', (r) => {
    if (r.status() >= 400) seen.errors.push(`${r.url()}: ${r.status()}`);
  });
  await page.goto(url);
  await page
    .waitForFunction((name) => name in globalThis, name)
    .catch((e) => {
      throw new Error([e.message, ...seen.errors].join('\n'));
    });
  return { page, seen, close: () => page.close() };
}

/**
 * Lets a page check the model, without a worker and with one.
 * @param {import('playwright-core').Browser} chrome
 * @param {string} url
 * @param {string} model its address
 * @param {number} [threads]
 */
export async function checkPage(chrome, url, model, threads) {
  const { page, seen, close } = await openPage(chrome, url, 'check');
  const reports = [];
  for (const worker of [false, true]) {
    if (!threads) assert.equal(seen.workers, 0);
    reports.push(
      await page.evaluate(
        ([model, worker, threads]) =>
          /** @type {any} */ (globalThis)
            .check(model, worker, threads)
            .catch((/** @type {any} */ e) => `${e.code}: ${e.message}`),
        [model, worker, threads],
      ),
    );
  }
  answers(reports, threads !== undefined);
  assert.deepEqual(seen.errors, []);
  if (!threads) assert.equal(seen.workers, 1);
  await close();
}

/**
 * Lets the page of a folder check the model, and check it on two threads where the server makes it cross-origin
 * isolated.
 * @param {import('playwright-core').Browser} chrome
 * @param {string} dir
 * @param {string} model its address
 */
export async function checkFolder(chrome, dir, model) {
  for (const [headers, threads] of /** @type {[Record<string, string>, number | undefined][]} */ ([
    [{}, undefined],
    [ISOLATION, 2],
  ])) {
    const { url, close } = await serve(dir, headers);
    await checkPage(chrome, url, model, threads).finally(close);
  }
}

/** What the pages of examples/ say first. */
export const FIRST_ANSWER = '-1.0 0.0 1.0';

/**
 * Waits for the answer of an example's page, and for the answers to two other inputs.
 * @param {import('playwright-core').Page} page
 */
export async function checkAnswers(page) {
  const says = (/** @type {string} */ wanted) =>
    page.waitForFunction((wanted) => document.querySelector('output')?.textContent === wanted, wanted);
  await says(FIRST_ANSWER).catch(async (e) => {
    throw new Error(`${e.message}: ${await page.textContent('body')}`);
  });
  await page.fill('input', '4 3 2 1');
  await says('2.5 0.5 8.0');
  await page.fill('input', '1 2');
  await page.waitForFunction(() => /must have|cannot|shape/.test(document.querySelector('output')?.textContent ?? ''));
}
