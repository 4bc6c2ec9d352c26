import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { noDeviceSources } from '../../src/balance/device-day-sql.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { rows } from '../publish/publish-fixture.ts';

test('days are joined with sources by a hash, so the cost is not days times sources', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  try {
    const connection = await instance.connect();
    await connection.run(`CREATE TABLE device_source AS ${noDeviceSources}`);
    await connection.run(
      `INSERT INTO device_source BY NAME SELECT uuid() AS device, 'pv' AS source, true AS counts FROM range(100)`,
    );
    await connection.run(
      `CREATE TABLE chosen AS SELECT DATE '2026-06-01' AS day, device, source FROM device_source`,
    );
    const [[, plan]] = (await rows(connection, `EXPLAIN ${loadSql('balance/find_role_days')}`)) as [
      [string, string],
    ];
    expect(plan).toContain('HASH_JOIN');
    expect(plan).not.toMatch(/NL_JOIN|NESTED_LOOP/);
  } finally {
    instance.closeSync();
  }
});
