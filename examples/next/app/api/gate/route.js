import { join } from 'node:path';
import { load } from 'rushlight';

const model = load(join(process.cwd(), 'public/gate.rush'), { worker: true });

/** Runs the model on the server: GET /api/gate?x=1,2,3,4 */
export async function GET(request) {
  const x = new URL(request.url).searchParams.get('x')?.split(',').map(Number) ?? [];
  try {
    const { y } = await (await model).run({ x: [x] });
    return Response.json([...y.data]);
  } catch (e) {
    return Response.json({ error: e.message }, { status: 400 });
  }
}

export const dynamic = 'force-dynamic';
