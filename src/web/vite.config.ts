import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Writes a compressed copy beside each file, so that the service does not compress them for each request. */
const compressed: Plugin = {
  name: 'compressed',
  writeBundle({ dir }) {
    for (const file of readdirSync(dir!, { recursive: true, encoding: 'utf8' })) {
      if (!/\.(?:html|js|css|svg)$/.test(file)) continue;
      const path = join(dir!, file);
      writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
    }
  },
};

/** Builds the page into files that the report serves. Their names contain a hash, so browsers may keep them. */
export default defineConfig({
  root: import.meta.dirname,
  // Addresses are relative, so the page also works below a path of a proxy.
  base: './',
  publicDir: false,
  plugins: [compressed],
  // For work on the page: `vite src/web` beside a running service.
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
