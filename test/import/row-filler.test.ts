import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, importInto, parquetOf } from './import-fixture.ts';

test('all values of wide rows land, however often the columns grow', async () => {
  const shard = await openTestShard();
  const fields = Array.from({ length: 41 }, (_, index) => `f${index}`);
  const values = fields.map((name, index) => `${index} + 100 * i AS ${name}`);
  const path = await parquetOf(
    `SELECT make_timestamp(1700000000000000 + i * 1000000) AS time, ${values.join(', ')} FROM range(600) AS rows(i)`,
  );
  // A buffer has room for ten fields of each row at first.
  const mapping = {
    time: { column: 'time', zone: 'UTC' },
    device: { id: DEVICE },
    fields: Object.fromEntries(fields.map((name) => [name, name])),
  };
  await importInto(shard, path, mapping, { batchRows: 200 });
  expect(
    await rowsOf(
      shard,
      `SELECT count(*)::INTEGER AS messages, sum(len(numbers))::INTEGER AS numbers,
        count(*) FILTER (numbers = list_transform(range(41), lambda n: (n + numbers[1])::DOUBLE))::INTEGER AS whole,
        sum(numbers[1])::INTEGER AS first_values
      FROM message`,
    ),
  ).toEqual([{ messages: 600, numbers: 600 * 41, whole: 600, first_values: 100 * ((600 * 599) / 2) }]);
});
