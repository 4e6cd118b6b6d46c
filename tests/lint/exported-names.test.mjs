// The rule on exported names finds each kind of import that would fail.

import { RuleTester } from 'eslint';
import { fileURLToPath } from 'node:url';
import plugin from './exported-names.mjs';

const filename = fileURLToPath(new URL('../js/any.test.js', import.meta.url));
/** @param {string} code @param {string} [message] */
const row = (code, message) => ({ code, filename, ...(message && { errors: [{ message }] }) });
/** @param {string} source @param {string} name */
const missing = (source, name) => `${source} must export ${name}, which is imported here`;

new RuleTester().run('exported-names', plugin.rules['exported-names'], {
  valid: [
    row("import { load, Model as M } from 'rushlight';"),
    row("import { liveModels } from '../../js/src/api/model.js'; export { liveModels };"),
    row("import test from 'node:test'; import { anything } from 'another-package';"),
    row("import * as all from '../../js/src/index.js';"),
    row("const { load } = await import('/js/src/index.js');"),
    row("const { load } = await import('/made/by/the/server.js');"),
    row('const { load } = await import(name);'),
    row("import simd from '../../js/wasm/not-built-yet.wasm';"),
    row("import { Application } from '../node_modules/not-installed/index.js';"),
  ],
  invalid: [
    row("import { alive } from '../../js/src/api/model.js';", missing('../../js/src/api/model.js', 'alive')),
    row("import { alive } from 'rushlight';", missing('rushlight', 'alive')),
    row("import { load } from 'rushlight/image';", missing('rushlight/image', 'load')),
    row("import load from '../../js/src/index.js';", missing('../../js/src/index.js', 'default')),
    row("export { alive } from '../../js/src/index.js';", missing('../../js/src/index.js', 'alive')),
    row("const { load, alive } = await import('/js/src/index.js');", missing('/js/src/index.js', 'alive')),
    row("(await import('../../js/src/index.js')).alive();", missing('../../js/src/index.js', 'alive')),
    row("import { load } from '../../js/src/model.js';", 'there is no file ../../js/src/model.js'),
  ],
});
