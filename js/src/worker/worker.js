// The script of the worker that holds a model on the CPU.

import { loadThroughCache } from '../engine/load-cached.js';
import { serve } from './serve.js';

serve(loadThroughCache);
