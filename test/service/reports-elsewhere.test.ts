import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SECOND_MS } from '../../src/lib/time.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';
import { reports, startOwner, startReports } from './report-machines.ts';

/** Half of the time after which it looks without news. Other work of this machine can delay everything. */
const WITHIN_MS = 15 * SECOND_MS;

describe.skipIf(s3Missing)('a report process with a data folder of its own', () => {
  test('answers as the owner does, by news of a bucket commit, and still after a restart and without Redis', async () => {
    const at = await startReports();
    await at.service.start();
    // The bucket can be read, and no worker has ever opened the workgroup.
    expect(await at.ready()).toMatchObject({ body: { checks: { bucket: { ok: true } } } });
    expect(await at.report(reports[0]!)).toMatchObject({
      status: 503,
      text: expect.stringContaining('no worker has stored data of this workgroup yet'),
    });
    const owner = await startOwner(at);
    const delaysMs: number[] = [];
    for (const energyWh of [1, 2, 3]) {
      const { atMs } = await owner.commitDay(energyWh);
      const hasDay = async () => (await at.report(reports[0]!)).text.includes(`:${energyWh}}`);
      await until('the answer has the new day', hasDay);
      delaysMs.push(performance.now() - atMs);
    }
    expect(delaysMs.toSorted((a, b) => a - b)[1]).toBeLessThan(WITHIN_MS);
    for (const path of reports)
      expect([path, await at.report(path)]).toEqual([path, await owner.report(path)]);
    const { dataDir } = at.service.config;
    expect(['warehouse', 'lake'].filter((name) => existsSync(join(dataDir, name)))).toEqual([]);

    // After a restart it fetches no file again, and without Redis it still answers.
    await at.service.stop();
    await at.service.start();
    at.requests();
    expect((await at.report(reports[0]!)).text).toContain(':3}');
    expect(at.requests().filter((path) => path.includes('/files/'))).toEqual([]);
    await at.server.restart({
      whileDown: async () => expect((await at.report(reports[0]!)).text).toContain(':3}'),
    });
  });
});
