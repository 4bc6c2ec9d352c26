// @module-tag slow
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ConfigInput } from '../../src/config/config.ts';
import { isSoak } from '../support/rounds.ts';
import { createServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/**
 * What a service has written that was started on this folder, with the rights beyond those that are wanted.
 */
async function rightsAfter(input: Pick<ConfigInput, 'dataReaders'>, unwanted: number) {
  const service = await createServiceProcess({
    ...input,
    logLevel: 'warn',
    pipeline: { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms' },
    workgroups: [{ id: 'home', energyStreams: [{ table: 'solar', field: 'total', method: 'total_energy' }] }],
  });
  const { dataDir } = service.config;
  const before = new Set(existsSync(dataDir) ? readdirSync(dataDir) : []);
  mkdirSync(dataDir, { recursive: true });
  chmodSync(dataDir, 0o755);
  await service.start();
  const sent = await fetch(`${service.url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify([
      { device: '00000000-0000-4000-8000-000000000001', event_time: Date.now(), data: { total: 1 } },
    ]),
  });
  expect(sent.status).toBe(200);
  const current = join(dataDir, 'lake', 'home', 'current', 'analytics.duckdb');
  await until('something is published', () => existsSync(current));
  await service.stop();
  const written = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !before.has(path.split('/')[0]!),
  );
  const open = written.filter((path) => {
    const found = statSync(join(dataDir, path), { throwIfNoEntry: false });
    return found !== undefined && (found.mode & unwanted) !== 0;
  });
  const warnings = service.errorText().match(/other users of this machine can access/g) ?? [];
  const modeOf = (path: string) => statSync(join(dataDir, path)).mode & 0o777;
  return { written, open, warnings: warnings.length, text: service.errorText(), modeOf };
}

test('new files are private, and an existing folder that is not private gives one warning', async () => {
  const { written, open, warnings, text, modeOf } = await rightsAfter({}, 0o077);
  expect(written).toEqual(
    expect.arrayContaining(['warehouse/home.duckdb', 'lake/home/commits', 'status/home.json']),
  );
  expect(open).toEqual([]);
  expect([modeOf('warehouse'), modeOf('warehouse/home.duckdb')]).toEqual([0o700, 0o600]);
  expect(warnings).toBe(1);
  expect(text).toMatch(/mode 0755.*chmod -R go= .*dataReaders/);
});

test.runIf(isSoak)('with dataReaders others can read, and nobody else can write', async () => {
  const { open, warnings, modeOf } = await rightsAfter({ dataReaders: 'everyone' }, 0o022);
  expect(open).toEqual([]);
  expect(warnings).toBe(0);
  expect([modeOf('lake'), modeOf('warehouse/home.duckdb')]).toEqual([0o755, 0o644]);
});
