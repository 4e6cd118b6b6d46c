// The script of the worker that holds a model on the CPU.

import { loadLocal } from '../engine/load-local.js';
import { loadCached } from '../source/cached-source.js';
import { serve } from './serve.js';

serve((source, options, modules) => loadCached(source, options, (bytes) => loadLocal(bytes, options, modules)));
