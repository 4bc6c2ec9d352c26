import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readStatuses } from '../../src/pipeline/workgroup-status.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const stream = (field: string) => ({ table: 'solar', field, method: 'total_energy' as const, unit: 'Wh' });

test('a running service backfills on request: a field that is configured when only the lake has its messages', async () => {
  const service = await createServiceProcess({
    workgroups: [{ id: 'home', energyStreams: [stream('total_wh')] }],
    pipeline: { rollupEvery: '300ms', publishEvery: '300ms' },
  });
  const cwd = join(service.config.dataDir, '..');
  const startMs = Date.now() - 7_200_000;
  const lines = Array.from(
    { length: 60 },
    (_, index) =>
      `${new Date(startMs + index * 60_000).toISOString()},${DEVICE},roof,${1_000 + index * 10},${5_000 + index * 20}\n`,
  );
  writeFileSync(join(cwd, 'log.csv'), `time,device,source,total_wh,other_wh\n${lines.join('')}`);
  const imported = await runCommand(['import', 'log.csv', '-w', 'home', '-t', 'solar'], { cwd });
  expect([imported.code, imported.stderr]).toEqual([0, expect.stringContaining('other_wh')]);
  const energy = (field: string) =>
    queryLake(
      service.config,
      'home',
      `SELECT sum(energy_wh)::DOUBLE AS wh FROM interval_energy WHERE field = '${field}'`,
    );
  expect(await energy('total_wh')).toEqual([{ wh: 590 }]);
  // As maintenance does once keepMessages has passed.
  const shard = await openTestShard({
    path: join(service.config.dataDir, 'warehouse', 'home.duckdb'),
    workgroupId: 'home',
  });
  await shard.transaction((connection) => connection.run('DELETE FROM message'));
  await shard.close();

  const file = join(cwd, 'wattline.yaml');
  const config = parse(readFileSync(file, 'utf8'));
  config.workgroups[0].energyStreams.push(stream('other_wh'));
  writeFileSync(file, stringify(config));
  await service.start();
  await until(
    'the worker runs',
    () => readStatuses(service.config.dataDir)[0]?.processId === service.processId,
  );
  const done = await runCli(['backfill', '--source', 'archive', '--from', String(startMs), '--json'], {
    cwd,
  });
  expect(done.stderr).toBe('');
  expect(JSON.parse(done.stdout)).toMatchObject({ kind: 'done', messagesLanded: 60 });
  // It returns once what came of it is published. The views follow.
  await until('the views have the energy', async () => (await energy('other_wh'))?.[0]?.wh === 1_180);
  expect(await energy('total_wh')).toEqual([{ wh: 590 }]);

  const nothingNew = await runCommand(['backfill', '--from', String(startMs)], { cwd });
  expect(nothingNew).toMatchObject({ code: 0, stderr: '' });
  expect(nothingNew.stdout).toMatch(/^backfill 2: \d+ messages read, 0 of them new\n/);
  const list = await runCommand(['backfill', 'list', '--json'], { cwd });
  expect(JSON.parse(list.stdout)).toMatchObject([
    { source: 'stream', state: 'done' },
    { source: 'archive', state: 'done' },
  ]);
  const audited = await queryLake(
    service.config,
    'home',
    `SELECT count(*)::INTEGER AS n FROM messages WHERE "table" = 'solar'`,
  );
  expect(audited).toEqual([{ n: 60 }]);
  expect(await service.stop()).toBe(0);
});
