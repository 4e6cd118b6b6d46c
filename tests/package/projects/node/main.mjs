import { check } from './check.js';

let workers = 0;
process.on('worker', () => {
  workers++;
});
const reports = [await check(process.argv[2], false), await check(process.argv[2], true)];
const began = workers;
const threads = [await check(process.argv[2], false, 2), await check(process.argv[2], true, 2)];
console.log(JSON.stringify({ reports, workers: began, threads }));
