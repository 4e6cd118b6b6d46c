// A route handler that runs models in workers needs the package as it is.
export default { serverExternalPackages: ['rushlight'] };
