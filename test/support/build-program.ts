import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { build } from 'vite';
import type { TestProject } from 'vitest/node';
import { DAY_MS } from '../../src/lib/time.ts';
import { programBuilds, programEntries, programRoot } from './program-folder.ts';
import { canStartProgram } from './starts-program.ts';
import { createUpProcess } from './up-process.ts';

/** Packages that read files from their own folder. */
const separatePackages = [
  '@duckdb/node-bindings',
  '@electric-sql/pglite',
  '@fastify/swagger-ui',
  'lmdb',
  'msgpackr',
];

/**
 * Runs once before all test files. It builds the program if a chosen file can start it. In watch mode it
 * always builds, because other files can be chosen later.
 */
export async function setup({ vitest }: TestProject): Promise<void> {
  const paths = vitest.state.getPaths().map((path) => relative(programRoot, path));
  if (vitest.config.watch || canStartProgram(paths)) await buildProgram();
}

/**
 * Bundles the program and its packages into a few files, because a process that a test starts then needs a
 * third less of the processor until it is ready. It does nothing if the bundle exists.
 */
export async function buildProgram(): Promise<void> {
  const folder = process.env.WATTLINE_TEST_PROGRAM;
  if (folder === undefined || existsSync(folder)) return;
  mkdirSync(programBuilds, { recursive: true });
  const draft = `${folder}.${process.pid}`;
  await build({
    root: programRoot,
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: true, external: separatePackages, target: 'node' },
    build: {
      ssr: true,
      outDir: draft,
      target: 'node24',
      minify: false,
      copyPublicDir: false,
      rolldownOptions: {
        input: programEntries.map((file) => join(programRoot, file)),
        // A module that starts a thread looks for the file of the thread in its own folder.
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  });
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another run has built the same program meanwhile.
    if (!existsSync(folder)) throw error;
    rmSync(draft, { recursive: true });
    return;
  }
  removeOldBuilds();
  await fillCompileCache();
}

function removeOldBuilds(): void {
  for (const name of readdirSync(programBuilds)) {
    const folder = join(programBuilds, name);
    if (Date.now() - statSync(folder).mtimeMs > DAY_MS) rmSync(folder, { recursive: true, force: true });
  }
}

/** Node writes the compiled code of a process only when it ends by itself, and tests kill most processes. */
async function fillCompileCache(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'wattline-test-'));
  const service = await createUpProcess(folder, { workgroups: [{ id: 'home' }] });
  await service.start();
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}
