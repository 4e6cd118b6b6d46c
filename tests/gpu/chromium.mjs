// Headless Chromium with a GPU in software, which is the same on every machine.

import { start } from '../../demo/shared/chromium.mjs';

export const startWithGpu = () => start(['--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader']);
