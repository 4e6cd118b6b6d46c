export default { optimizeDeps: { exclude: ['rushlight'] } };
