import { check } from '../../../check.js';

export async function GET(request) {
  const { searchParams } = new URL(request.url);
  const worker = searchParams.has('worker'),
    threads = searchParams.has('threads') ? Number(searchParams.get('threads')) : undefined;
  return Response.json(await check(searchParams.get('model'), worker, threads).catch((e) => `${e.code}: ${e.message}`));
}
