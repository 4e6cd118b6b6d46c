// Drives WebKitGTK by its WebDriver (W3C WebDriver over HTTP), on an X server of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const LONG = 300_000; // ms; ends a wait for an answer that never comes

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts WebKit with an empty page. */
export async function startWebKit() {
  const port = await freePort();
  const driver = process.env.RUSH_WEBKIT_DRIVER ?? '/usr/bin/WebKitWebDriver';
  const child = spawn('xvfb-run', ['-a', driver, `--port=${port}`], {
    detached: true, // the X server and the browser end with it
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      GDK_BACKEND: 'x11',
      LIBGL_ALWAYS_SOFTWARE: '1',
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    },
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const ended = once(child, 'exit').catch((e) => {
    said += e.message;
  });
  const close = async () => {
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  };

  /** @param {string} method @param {string} path @param {object} [body] */
  const ask = async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`WebKit: ${value.error}: ${value.message}`);
    return value;
  };
  try {
    for (let i = 0; ; i++) {
      if (child.exitCode !== null || !child.pid) throw new Error(`${driver} did not start: ${said}`);
      if (
        await ask('GET', '/status').then(
          (s) => s.ready,
          () => false,
        )
      )
        break;
      if (i === 600) throw new Error(`${driver} does not answer: ${said}`);
      await sleep(100);
    }
    const { sessionId, capabilities } = await ask('POST', '/session', {
      capabilities: { alwaysMatch: { timeouts: { script: LONG, pageLoad: LONG } } },
    });
    const session = `/session/${sessionId}`;
    return {
      version: `WebKitGTK ${capabilities.browserVersion}`,
      goto: (/** @type {string} */ url) => ask('POST', `${session}/url`, { url }),
      /**
       * Runs `f` in the page and returns its result, which must be JSON.
       * @param {(arg: any) => unknown} f @param {unknown} arg
       */
      async evaluate(f, arg) {
        const script = `const done = arguments[1];
          const fail = (e) => done({ error: String(e) + '\\n' + (e?.stack ?? '') });
          Promise.resolve((${f})(arguments[0])).then((value) => done({ value }), fail);`;
        const { value, error } = await ask('POST', `${session}/execute/async`, { script, args: [arg ?? null] });
        if (error) throw new Error(error);
        return value;
      },
      close: () =>
        ask('DELETE', session)
          .catch(() => {})
          .then(close),
    };
  } catch (error) {
    await close();
    throw error;
  }
}
