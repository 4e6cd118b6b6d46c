import { expose } from 'comlink';
import { load } from 'rushlight';
import gate from 'rushlight/gate.rush?url';

const model = load(gate, { cache: 'auto' });

expose({
  /** @param {number[]} numbers */
  async gate(numbers) {
    const { y } = await (await model).run({ x: [numbers] });
    return [...y.data];
  },
});
