import { check } from './check.js';

export default {
  /** @param {Request} request */
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    const report = await check(searchParams.get('model'), searchParams.has('worker')).catch(
      (e) => `${e.code}: ${e.message}`,
    );
    return Response.json(report);
  },
};
