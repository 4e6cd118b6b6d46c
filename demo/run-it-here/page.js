import { element, fetchJson, megabytes, milliseconds, showError } from '../shared/page.js';
import { measure } from './measure.js';

/** @typedef {import('./measure.js').Measured} Measured */
/**
 * @typedef {object} Entry a model of manifest.json
 * @property {string} name
 * @property {string} title
 * @property {string} file
 * @property {number} bytes
 * @property {'trained' | 'seeded'} weights
 * @property {Record<string, import('./measure.js').Given | number>} inputs
 * @property {Record<string, Record<string, number>>} recorded
 */

const FOLDER = new URL('../../build/demo/run-it-here/', import.meta.url);
const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const start = /** @type {HTMLButtonElement} */ (byId('start'));
const stop = /** @type {HTMLButtonElement} */ (byId('stop'));
const report = /** @type {HTMLTextAreaElement} */ (byId('report'));
const progress = byId('progress');

/** @type {{ where: string, models: Entry[] }} */
let manifest;
/** @type {AbortController | undefined} */
let stopping;
/** The measurements, by name and by the option `threads`, or `webgpu`. @type {Map<string, Record<string, Measured>>} */
const measured = new Map();

const device = {
  agent: navigator.userAgent,
  cores: navigator.hardwareConcurrency,
  memory: /** @type {{ deviceMemory?: number }} */ (/** @type {unknown} */ (navigator)).deviceMemory,
  isolated: crossOriginIsolated,
  gpu: /** @type {string | null} */ (null),
};

/** Finds the GPU that the models may use. */
async function findGpu() {
  const { gpu } = /** @type {{ gpu?: any }} */ (/** @type {unknown} */ (navigator)),
    adapter = await gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter) device.gpu = [adapter.info.vendor, adapter.info.architecture].filter(Boolean).join(' ') || 'WebGPU';
}

function showDevice() {
  const threads = device.isolated ? 'one, and as many as help' : 'one: this page is not cross-origin isolated';
  const facts = [
    ['Engine', device.agent],
    ['Cores', `${device.cores}`],
    ['Threads', threads],
    ['GPU', device.gpu ?? 'none: this engine offers no WebGPU'],
  ];
  byId('device').replaceChildren(
    ...facts.flatMap(([name, value]) => [element('dt', {}, name ?? ''), element('dd', {}, value ?? '')]),
  );
}

function showModels() {
  byId('models').replaceChildren(
    ...manifest.models.map(({ name, title, bytes, weights }) =>
      element(
        'li',
        {},
        element(
          'label',
          {},
          element('input', { type: 'checkbox', name, checked: bytes < 5e7 }),
          `${title}${weights === 'seeded' ? ' (random weights)' : ''}`,
          element('span', { className: 'size' }, megabytes(bytes)),
        ),
      ),
    ),
  );
  start.disabled = false;
}

/** The columns after the name: what is read out of a model's entry. */
function columns() {
  const rivals = [...new Set(manifest.models.flatMap((entry) => Object.keys(entry.recorded['1'] ?? {})))];
  return [
    { title: 'here, 1 thread', here: true, of: (/** @type {Entry} */ e) => measured.get(e.name)?.['1']?.median },
    { title: 'here, all threads', here: true, of: (/** @type {Entry} */ e) => measured.get(e.name)?.auto?.median },
    ...(device.gpu
      ? [{ title: 'here, GPU', here: true, of: (/** @type {Entry} */ e) => measured.get(e.name)?.webgpu?.median }]
      : []),
    ...rivals.map((name) => ({
      title: `recorded, ${name}`,
      here: false,
      of: (/** @type {Entry} */ e) => e.recorded['1']?.[name],
    })),
  ];
}

function showResults() {
  byId('results').hidden = false;
  const shown = columns();
  const head = [element('th', { scope: 'col' }, 'Model')];
  for (const { title } of shown) head.push(element('th', { scope: 'col' }, title));
  byId('head').replaceChildren(element('tr', {}, ...head));
  const entries = manifest.models.filter((entry) => measured.has(entry.name));
  byId('rows').replaceChildren(
    ...entries.map((entry) => {
      const cells = shown.map(({ of }) => of(entry)).map((ms) => element('td', {}, ms ? milliseconds(ms) : '–'));
      return element('tr', {}, element('th', { scope: 'row' }, entry.title), ...cells);
    }),
  );
  byId('where').textContent = `Recorded, one thread: ${manifest.where}. The medians of your device are shown.`;
  byId('chart').replaceChildren(...entries.flatMap((entry) => bars(entry, shown)));
  report.value = JSON.stringify(
    { device, models: entries.map(({ name, weights }) => ({ name, weights, ...measured.get(name) })) },
    null,
    1,
  );
}

/** The bars of a model. @param {Entry} entry @param {ReturnType<typeof columns>} shown */
function bars(entry, shown) {
  const values = shown.map((column) => ({ ...column, ms: column.of(entry) })).filter(({ ms }) => ms);
  const longest = Math.max(...values.map(({ ms }) => ms ?? 0));
  const lines = values.map(({ title, here, ms = 0 }) => {
    const bar = element('i');
    bar.style.setProperty('--part', String(ms / longest));
    const label = element('span', {}, title);
    return element(
      'div',
      { className: here ? 'line here' : 'line' },
      label,
      bar,
      element('span', {}, milliseconds(ms)),
    );
  });
  return [element('h3', {}, entry.title), ...lines];
}

/**
 * Downloads a model and measures it on one thread, on more, and on the GPU.
 * @param {Entry} entry @param {AbortSignal} signal
 */
async function measureEntry(entry, signal) {
  progress.textContent = `${entry.title}: downloading ${megabytes(entry.bytes)}`;
  const response = await fetch(new URL(entry.file, FOLDER), { signal });
  if (!response.ok) throw new Error(`${entry.file}: ${response.status} ${response.statusText}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  for (const [mode, text] of /** @type {const} */ ([
    [1, 'one thread'],
    ['auto', 'all threads'],
    ['webgpu', 'GPU'],
  ])) {
    if ((mode === 'auto' && !device.isolated) || (mode === 'webgpu' && !device.gpu)) continue;
    progress.textContent = `${entry.title}: ${text}`;
    const result = await measure(bytes, entry.inputs, mode, signal);
    measured.set(entry.name, { ...measured.get(entry.name), [mode]: result });
    showResults();
  }
}

byId('choice').onsubmit = async (event) => {
  event.preventDefault();
  const chosen = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
  stopping = new AbortController();
  start.disabled = true;
  stop.disabled = false;
  try {
    for (const entry of manifest.models.filter(({ name }) => chosen.has(name)))
      await measureEntry(entry, stopping.signal);
    progress.textContent = 'Every model was measured.';
  } catch (error) {
    if (/** @type {Error} */ (error).name === 'AbortError') progress.textContent = 'Stopped.';
    else showError(progress, error);
  }
  start.disabled = false;
  stop.disabled = true;
};
stop.onclick = () => stopping?.abort();
byId('copy').onclick = async () => {
  await navigator.clipboard.writeText(report.value);
  byId('copied').textContent = 'Copied.';
};

await findGpu().catch(() => {}); // without an adapter, no model is measured there
showDevice();
try {
  manifest = await fetchJson(new URL('manifest.json', FOLDER).href, './dev docs --live');
  showModels();
} catch (error) {
  showError(progress, error);
}
