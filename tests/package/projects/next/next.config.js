export default { serverExternalPackages: ['rushlight'] }; // for workers in route handlers
