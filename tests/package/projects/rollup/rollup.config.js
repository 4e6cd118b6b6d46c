import { rollup } from 'rushlight/bundler';

export default { input: 'page.js', output: { dir: 'dist', format: 'es' }, plugins: [rollup()] };
