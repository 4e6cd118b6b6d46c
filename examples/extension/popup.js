// Pages of extensions allow no inline import map, so that the import names the file.
import { load } from './rushlight/src/index.js';

const [from, to] = document.querySelectorAll('input, output');
const model = await load('rushlight/gate.rush', { worker: true });

async function answer() {
  try {
    const { y } = await model.run({ x: [from.value.trim().split(/\s+/).map(Number)] });
    to.textContent = [...y.data].map((v) => v.toFixed(1)).join(' ');
  } catch (e) {
    to.textContent = e.message;
  }
}
from.addEventListener('input', answer);
await answer();
