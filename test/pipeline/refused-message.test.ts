// @module-tag slow
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { warehouseFile } from '../../src/pipeline/assignment.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { putEmptyWarehouse } from '../warehouse/empty-warehouse.ts';

test('a message that the warehouse refuses again and again is set aside, and nothing behind it waits', async () => {
  const service = await createServiceProcess({
    logLevel: 'error',
    pipeline: { pollEvery: '200ms', rollupEvery: '200ms', publishEvery: '200ms' },
    workgroups: [{ id: 'home' }],
  });
  // A file that takes each device counter once only: a real refusal of one message among good ones.
  const path = warehouseFile(service.config.dataDir, 'home');
  await putEmptyWarehouse(path);
  const file = await DuckDBInstance.create(path);
  const connection = await file.connect();
  await connection.run('CREATE UNIQUE INDEX once ON message (message_id)');
  connection.closeSync();
  file.closeSync();

  await service.start();
  const post = async (counters: number[]) => {
    const answer = await fetch(`${service.url}/api/v1/tables/home/solar/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(
        counters.map((counter) => ({
          device: '00000000-0000-4000-8000-000000000001',
          event_time: Date.UTC(2026, 0, 1) + counter,
          msg_id: counter,
          data: { counter },
        })),
      ),
    });
    expect(answer.status).toBe(200);
  };
  await post([1, 2, 3, 2, 4]);
  await post([5, 6]);
  const landed = 'SELECT message_id::INTEGER AS id FROM messages ORDER BY id';
  await until(
    'everything else has landed',
    async () => ((await queryLake(service.config, 'home', landed))?.length ?? 0) >= 6,
    100_000,
  );
  expect((await queryLake(service.config, 'home', landed))!.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
  const quarantine = await queryLake(
    service.config,
    'home',
    'SELECT reason, octet_length(bytes) > 50 AS kept FROM quarantine',
  );
  expect(quarantine).toEqual([{ reason: 'cannot_land', kept: true }]);
});
