// An HTTP server with a pool: POST a JSON array of rows, and get the rows of the answer.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

import { loadPool } from 'rushlight/pool';

const pool = await loadPool(import.meta.resolve('rushlight/gate.rush'), { size: 2 });

const server = createServer(async (request, response) => {
  const stop = new AbortController();
  response.on('close', () => stop.abort()); // a client that leaves frees its worker
  try {
    const { y } = await pool.run({ x: await json(request) }, { signal: stop.signal });
    const [rows, columns] = y.shape;
    const answer = Array.from({ length: rows }, (_, i) => [...y.data.subarray(i * columns, (i + 1) * columns)]);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  } catch (e) {
    response.writeHead(e.code === 'bad-argument' || e instanceof SyntaxError ? 400 : 500).end(`${e.message}\n`);
  }
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
