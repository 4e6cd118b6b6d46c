import { check } from './check.js';

let workers = 0;
process.on('worker', () => { workers++; });
const reports = [await check(process.argv[2], false), await check(process.argv[2], true)];
console.log(JSON.stringify({ reports, workers }));
