import { expect, test } from 'vitest';
import { interruptAfter } from '../../src/pipeline/interrupt-after.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

test('statements that take too long are interrupted, and the connection stays usable', async () => {
  const shard = await openTestShard();
  const connection = await shard.connect();
  try {
    const slow = 'SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = -1';
    let begun = 0;
    const working = interruptAfter(connection, 50, async () => {
      for (; begun < 3; begun++) await connection.run(slow).catch(() => undefined);
      await connection.run(slow);
    });
    await expect(working).rejects.toMatchObject({ code: 'TooLong', retryable: true });
    expect(begun).toBe(3);
    expect(
      await interruptAfter(connection, 60_000, async () => (await connection.run('SELECT 1')).rowCount),
    ).toBe(1);
    await expect(
      interruptAfter(connection, 60_000, () => Promise.reject(new Error('its own'))),
    ).rejects.toThrow('its own');
  } finally {
    connection.closeSync();
  }
});
