// Vite 5 to 7 build workers as one classic script by default, which cannot import modules at run time.
export default { worker: { format: 'es' } };
