export default {
  serverExternalPackages: ['rushlight'], // for workers in route handlers
  // Those of threads: of a page that asks for them here, and of the scripts of its workers.
  headers: () => [
    {
      source: '/',
      has: [{ type: 'query', key: 'threads' }],
      headers: [
        { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
        { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
      ],
    },
    { source: '/_next/:path*', headers: [{ key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' }] },
  ],
};
