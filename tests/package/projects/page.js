// A page's own script: the test calls check.
import { check } from './check.js';

globalThis.check = check;
