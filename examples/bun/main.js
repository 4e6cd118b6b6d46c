// bun main.js
import { load } from 'rushlight';

const model = await load(import.meta.resolve('rushlight/gate.rush'), { worker: true });
const { y } = await model.run({ x: [[1, 2, 3, 4]] });
console.log([...y.data].map((v) => v.toFixed(1)).join(' '));
model.dispose();
