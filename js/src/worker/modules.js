// Modules that the core imports on first use, where they are there already.

import * as diagnostics from '../engine/diagnostics.js';
import * as ops from '../engine/ops.js';
import * as threads from './threads.js';

export const modules = {
  diagnostics: async () => diagnostics,
  threads: async () => threads,
  ops: async () => ops,
};
