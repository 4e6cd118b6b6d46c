import { wrap } from 'comlink';

const worker = wrap(new Worker(new URL('./worker.js', import.meta.url), { type: 'module' }));
const [from, to] = document.querySelectorAll('input, output');

async function answer() {
  const numbers = from.value.trim().split(/\s+/).map(Number);
  try {
    to.textContent = (await worker.gate(numbers)).map((v) => v.toFixed(1)).join(' ');
  } catch (e) {
    to.textContent = e.message;
  }
}
from.addEventListener('input', answer);
answer();
