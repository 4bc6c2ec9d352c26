import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { noDeviceSources } from '../../src/balance/device-day-sql.ts';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { rows } from '../publish/publish-fixture.ts';

test.each(['balance/sum_device_day', 'report/select_counted', 'report/select_split_days'] as const)(
  '%s joins days with sources by a hash, so its cost is not days times sources',
  async (name) => {
    const instance = await DuckDBInstance.create(':memory:');
    try {
      const connection = await instance.connect();
      await connection.run(`CREATE TABLE device_source AS ${noDeviceSources}`);
      await connection.run(
        `INSERT INTO device_source BY NAME SELECT uuid() AS device, 'pv' AS source, true AS counts, 'rise' AS part FROM range(100)`,
      );
      await connection.run(
        `CREATE TABLE source_day AS SELECT DATE '2026-06-01' AS day, day AS reported_day, device, source, 1 AS energy_wh, 1 AS rise_wh, 1 AS fall_wh,
           ['m'] AS methods, ['f'] AS flags, 1.0 AS coverage, 'final' AS status, 1 AS version, 1 AS computed_at FROM device_source`,
      );
      await connection.run('CREATE VIEW chosen AS FROM source_day');
      const [[, plan]] = (await rows(connection, `EXPLAIN ${loadSql(name)}`)) as [[string, string]];
      expect(plan).toContain('HASH_JOIN');
      expect(plan).not.toMatch(/NL_JOIN|NESTED_LOOP/);
    } finally {
      instance.closeSync();
    }
  },
);
