// The package's types in TypeScript from 5.0 on, with nothing skipped, and those that `npx rushlight types` makes of a
// model.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { run, workshop } from './harness.mjs';

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url));

/** What a project has of the web's and Node's types. */
const PROJECTS = {
  page: { lib: ['es2022', 'dom'], types: [], module: 'esnext', moduleResolution: 'bundler' },
  node: { lib: ['es2022'], types: ['node'], module: 'nodenext', moduleResolution: 'nodenext' },
  commonjs: { lib: ['es2022'], types: ['node'], module: 'node16', moduleResolution: 'node16' },
  // This resolution knows no `exports`, and TypeScript 6 is the last version with it.
  old: { lib: ['es2022', 'dom'], types: [], module: 'esnext', moduleResolution: 'node' },
  bare: { lib: ['es2022'], types: [], module: 'nodenext', moduleResolution: 'nodenext' },
};

/** @type {ReturnType<typeof workshop>} */ let shop;
/** @type {string} */ let dir;
before(() => {
  shop = workshop();
  dir = shop.project('typescript');
  cpSync(shop.model, join(dir, 'digits.rush'));
  assert.equal(
    run(dir, ['npx', '--no-install', 'rushlight', 'types', 'digits.rush']),
    'digits.d.ts: load<Digits>(...)\n',
  );
  const [first = '', ...more] = [
    ...readFileSync(new URL('../../web/guide/typescript.md', import.meta.url), 'utf8').matchAll(
      /^```ts\n([^]*?)^```/gm,
    ),
  ].map(([, code = '']) => code);
  assert.equal(more.length, 1);
  writeFileSync(join(dir, 'guide.ts'), first + more[0]);
  for (const name of ['@types/node', 'undici-types'])
    cpSync(join(modules, name), join(dir, 'node_modules', name), { recursive: true });
});
after(() => shop?.remove());

/** What a compiler finds wrong. @param {string} typescript @param {keyof PROJECTS} project @param {...string} files */
function errors(typescript, project, ...files) {
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
        target: 'es2022',
        ...PROJECTS[project],
      },
      files,
    }),
  );
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(modules, typescript, 'bin/tsc'), '-p', '.', '--pretty', 'false'],
    { cwd: dir, encoding: 'utf8' },
  );
  assert.equal(stderr, '');
  assert.equal(status === 0, stdout === '', stdout);
  return stdout.split('\n').filter((line) => line.includes(' error '));
}

test('the types of a model have its names, dtypes and shapes', () => {
  assert.equal(
    readFileSync(join(dir, 'digits.d.ts'), 'utf8'),
    `// Made from digits.rush by npx rushlight types. Sizes are those of the export's examples.
import type { Tensor, TensorLike } from 'rushlight';

export type Digits = {
  forward: {
    inputs: {
      /** float32 [n, 1, 28, 28] */
      x: TensorLike<'float32'>;
    };
    outputs: {
      /** float32 [?, 10] */
      y: Tensor<'float32'>;
    };
    args: [x: TensorLike<'float32'>];
    result: Tensor<'float32'>;
  };
};
`,
  );
});

for (const typescript of ['typescript-5.0', 'typescript-5.4', 'typescript', 'typescript-7.0']) {
  // Between two that see all
  const projects = /** @type {(keyof typeof PROJECTS)[]} */ (
    typescript === 'typescript-5.4' ? ['page'] : Object.keys(PROJECTS)
  );
  for (const project of projects) {
    if (project !== 'old' || typescript !== 'typescript-7.0')
      test(`${typescript}, ${project}: right programs are taken`, () =>
        assert.deepEqual(
          errors(
            typescript,
            project,
            project === 'commonjs' ? 'common.cts' : 'right.ts',
            ...(project === 'page' ? ['guide.ts', 'page.ts'] : []),
          ),
          [],
        ));
  }
  test(`${typescript}: each wrong line is refused`, () => {
    const wrong = readFileSync(join(dir, 'wrong.ts'), 'utf8')
      .split('\n')
      .flatMap((line, i) => (/^ {2}(?!const)/.test(line) ? [i + 1] : []));
    assert.deepEqual(
      [...new Set(errors(typescript, 'page', 'wrong.ts').map((line) => Number(/^wrong\.ts\((\d+)/.exec(line)?.[1])))],
      wrong,
    );
  });
}
