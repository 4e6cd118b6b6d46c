import { check } from '../../../check.js';

export async function GET(request) {
  const { searchParams } = new URL(request.url);
  const worker = searchParams.has('worker');
  return Response.json(await check(searchParams.get('model'), worker).catch((e) => `${e.code}: ${e.message}`));
}
