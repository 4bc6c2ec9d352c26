// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { runCli } from '../support/run-cli.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Names each engine on standard error when a process loads it. */
const preload = `
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({
  load(url, context, next) {
    const engine = /node_modules\\/(@duckdb\\/node-bindings|lmdb|undici|fastify|bullmq|@electric-sql)\\//.exec(url);
    if (engine) writeSync(2, 'loads ' + engine[1] + '\\n');
    return next(url, context);
  },
});`;

test.for([
  { args: ['version'], code: 0, isLoading: false },
  { args: ['token', 'list'], code: 0, isLoading: false },
  { args: ['config', 'check'], code: 0, isLoading: false },
  { args: ['status'], code: 3, isLoading: false },
  { args: ['--help'], code: 0, isLoading: false },
  // Shows that this test sees the engines.
  { args: ['exports', 'list'], code: 0, isLoading: true },
])('wattline $args loads an engine: $isLoading', async ({ args, code, isLoading }) => {
  const cwd = tempDir();
  const script = join(cwd, 'preload.mjs');
  writeFileSync(script, preload);
  writeFileSync(join(cwd, 'wattline.yaml'), 'workgroups: [{ id: home }]\n');
  const result = await runCli(args, {
    cwd,
    environment: { NODE_OPTIONS: `--import ${pathToFileURL(script)}` },
  });
  expect(result.code, result.stderr).toBe(code);
  expect(result.stderr.includes('loads '), result.stderr).toBe(isLoading);
});
