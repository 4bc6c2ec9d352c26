import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';
import { reports, startOwner, startReports } from './report-machines.ts';

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
    /** For each day, if the process has listed the commits to find it. */
    const listed: boolean[] = [];
    for (const energyWh of [1, 2, 3]) {
      at.requests();
      await owner.commitDay(energyWh);
      const hasDay = async () => (await at.report(reports[0]!)).text.includes(`:${energyWh}}`);
      await until('the answer has the new day', hasDay);
      listed.push(at.requests().some((path) => path.includes('list-type')));
    }
    // It lists them every 30 s, and reads a commit without a list only if news has named it.
    expect(listed).toContain(false);
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
