import { join } from 'node:path';
import { defineConfig } from 'vite';

/**
 * Builds the page into files that the report serves. Their names contain a hash, so browsers may keep them.
 */
export default defineConfig({
  root: import.meta.dirname,
  // Addresses are relative, so the page also works below a path of a proxy.
  base: './',
  publicDir: false,
  // For work on the page: `vite src/web` with a running service.
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
  build: {
    outDir: join(import.meta.dirname, '..', '..', 'dist-web'),
    emptyOutDir: true,
    target: 'es2023',
    // The content security policy refuses inlined files and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: 'licenses.md' },
  },
});
