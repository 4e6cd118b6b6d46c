// Replays the test vectors of many .rush files: the same code in Node, in a page and in a worker.

/**
 * @typedef {{ name: string, file: string, tests: number, raises?: string }} Row
 *   `raises`: every vector must fail, with a message that contains it
 * @typedef {{ backend: string, passed: number, failed: { file: string, message: string }[] }} Report
 *
 * @param {object} how
 * @param {typeof import('../../js/src/index.js').load} how.load
 * @param {readonly Row[]} how.rows
 * @param {(file: string) => Promise<Uint8Array>} how.read
 * @param {'auto' | 'simd' | 'relaxed'} how.backend
 * @param {'cpu' | 'webgpu'} [how.device]
 * @param {object} [how.gpu] the GPU object; the default is navigator.gpu
 * @returns {Promise<Report>}
 */
export async function replay({ load, rows, read, backend, device = 'cpu', gpu }) {
  /** @type {Report} */
  const report = { backend, passed: 0, failed: [] };
  for (const row of rows) {
    try {
      await replayOne(row, await load(await read(row.file), { backend, device, gpu }));
      report.passed++;
    } catch (e) {
      report.failed.push({ file: row.file, message: e instanceof Error ? e.message : String(e) });
    }
  }
  return report;
}

/** @param {Row} row @param {import('../../js/src/index.js').Model} model */
async function replayOne(row, model) {
  try {
    const { tests } = await model.verify();
    if (tests.length !== row.tests)
      throw new Error(`${row.tests} test vectors were expected, the file has ${tests.length}`);
    for (const t of tests) {
      if (row.raises === undefined) {
        if (!t.passed) throw new Error(t.message);
      } else if (t.passed || t.code === 'mismatch') {
        throw new Error(`test ${t.index} was to be refused (${row.raises || 'in any words'}), and ran`);
      } else if (!t.message?.includes(row.raises)) {
        throw new Error(`test ${t.index} was to be refused with "${row.raises}", not with "${t.message}"`);
      }
    }
  } finally {
    model.dispose();
  }
}
