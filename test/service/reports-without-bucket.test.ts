import { expect, test } from 'vitest';
import { s3Missing } from '../support/s3-for-tests.ts';
import { until } from '../support/until.ts';
import { reports, startOwner, startReports } from './report-machines.ts';

test.skipIf(s3Missing)(
  'a bucket that cannot be read makes a report process unready, and an answer that needs it a 503',
  async () => {
    const at = await startReports();
    const owner = await startOwner(at);
    await owner.commitDay(7);
    // A machine that has never read the bucket does not start without it.
    await at.service.start();
    await at.service.stop();
    at.decide(() => 'lose');
    await at.service.start();
    expect(await at.ready()).toMatchObject({
      ok: false,
      body: {
        checks: { bucket: { ok: false, detail: { problem: expect.stringContaining('does not answer') } } },
      },
    });
    for (const path of reports) expect([path, (await at.report(path)).status]).toEqual([path, 503]);
    at.decide(() => 'pass');
    await until('it is ready', async () => {
      const { bucket } = (await at.ready()).body.checks;
      return (bucket as { ok: boolean }).ok;
    });
    expect(await at.report(reports[0]!)).toEqual(await owner.report(reports[0]!));
  },
);
