import { expect, onTestFinished, test } from 'vitest';
import type { ConfigInput } from '../../src/config/config.ts';
import { SECOND_MS } from '../../src/lib/time.ts';
import { HOME, startBucketServices, statusOf } from '../support/bucket-services.ts';
import { type BucketRequest, openCountingProxy } from '../support/counting-proxy.ts';
import { s3Missing } from '../support/s3-for-tests.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** The limit of a commit. */
const PUTS_MAX = 6;
/** Twelve generations a commit, as with the defaults: 5 s and 60 s. */
const [PUBLISH_MS, COMMIT_MS] = [500, 6 * SECOND_MS];
const COMMITS = 3;
/** Other work of this machine can delay everything. */
const WAIT_MS = 150_000;
const DEVICES = [1, 2, 3, 4, 5].map((number) => `00000000-0000-4000-8000-00000000000${number}`);

const config: ConfigInput = {
  storage: { commitEvery: `${COMMIT_MS}ms` },
  pipeline: { pollEvery: '200ms', rollupEvery: `${PUBLISH_MS}ms`, publishEvery: `${PUBLISH_MS}ms` },
  workgroups: [
    {
      id: HOME,
      energyStreams: [
        { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh' },
        { table: 'meter', field: 'import_wh', method: 'total_energy', unit: 'Wh' },
        { table: 'battery', field: 'power_w', method: 'power_curve', unit: 'W' },
      ],
    },
  ],
};

/** Readings of all devices and tables. The energy of the day changes with each. */
async function sendTelemetry({ url, token }: ServiceProcess, number: number): Promise<void> {
  const data = {
    solar: { total_wh: 3 * number },
    meter: { import_wh: 2 * number, export_wh: number },
    battery: { power_w: 100 + (number % 50) },
  };
  for (const [table, fields] of Object.entries(data)) {
    const messages = DEVICES.map((device) => ({
      device,
      source: 'pv',
      event_time: Date.now(),
      data: fields,
    }));
    const answer = await fetch(`${url}/api/v1/tables/${HOME}/${table}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(messages),
    });
    expect(answer.status).toBe(200);
  }
}

/** The answers to all reports of today. */
async function reports({ url, token }: ServiceProcess): Promise<unknown[]> {
  const today = new Date().toISOString().slice(0, 10);
  const range = `startDate=${today}&endDate=${today}`;
  const paths = [
    `daily-energy?${range}`,
    `daily-energy/details?${range}`,
    `daily-energy?${range}&groupBy=source`,
    `interval-energy?${range}`,
    'device-status',
  ];
  return Promise.all(
    paths.map(async (path) => {
      const answer = await fetch(`${url}/api/v1/orgs/${HOME}/${path}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return [path, answer.status, await answer.text()];
    }),
  );
}

const isCommit = ({ what, key }: BucketRequest) => what === 'PUT' && key.startsWith(`${HOME}/commits/`);

test.skipIf(s3Missing)(
  'a bucket commit of many devices costs at most six PUTs, and an idle workgroup costs none',
  { timeout: 600_000 },
  async () => {
    let requests: BucketRequest[] = [];
    const { create } = await startBucketServices(async ({ endpoint }) => {
      const counted = await openCountingProxy(endpoint);
      requests = counted.requests;
      onTestFinished(counted.close);
      return counted.endpoint;
    });
    const service = await create(config);
    await service.start();
    /** The requests of each commit after the views for analysts, which are uploaded once an hour. */
    function ofCommits(): BucketRequest[][] {
      const views = requests.findIndex(({ what, key }) => what === 'PUT' && key.includes('/analytics/'));
      const counted = views < 0 ? [] : requests.slice(views + 1);
      const ends = counted.flatMap((request, at) => (isCommit(request) ? [at + 1] : []));
      return ends.map((end, at) => counted.slice(ends[at - 1] ?? 0, end));
    }
    let sent = 0;
    await until(
      'there are some commits',
      async () => {
        await sendTelemetry(service, ++sent);
        return ofCommits().length >= COMMITS;
      },
      WAIT_MS,
    );
    for (const own of ofCommits()) {
      const puts = own.filter(({ what }) => what === 'PUT');
      expect(puts.length, puts.map(({ key }) => key).join('\n')).toBeLessThanOrEqual(PUTS_MAX);
      // Nothing is read or listed to commit. Revocations are listed twice a minute.
      const others = own.filter(({ what, key }) => what !== 'PUT' && !key.startsWith('.service/'));
      expect(others).toEqual([]);
    }
    expect(
      ofCommits()
        .flat()
        .some(({ key }) => key.includes('/bundles/')),
    ).toBe(true);

    const elsewhere = await create(config, 'report');
    await elsewhere.start();
    let here: unknown[] = [];
    let there: unknown[] = [];
    await until('the reports elsewhere are the same', async () => {
      here = await reports(service);
      there = await reports(elsewhere);
      return JSON.stringify(here) === JSON.stringify(there);
    }).catch(() => undefined);
    expect(there).toEqual(here);
    expect(here.every((answer) => (answer as unknown[])[1] === 200)).toBe(true);
    await elsewhere.stop();

    const seenAtMs = () => statusOf(service)?.bucket?.lastCommitAtMs ?? 0;
    let [sinceMs, commits] = [seenAtMs(), 0];
    await until(
      'it has nothing to commit any more',
      () => {
        const now = requests.filter(isCommit).length;
        if (now > commits) [sinceMs, commits] = [seenAtMs(), now];
        return seenAtMs() >= sinceMs + 2 * COMMIT_MS;
      },
      WAIT_MS,
    );
    const before = requests.length;
    sinceMs = seenAtMs();
    await until('it has looked for changes again', () => seenAtMs() >= sinceMs + 3 * COMMIT_MS);
    const idle = requests.slice(before);
    expect(idle.filter(({ what }) => what === 'PUT')).toEqual([]);
    expect(idle.filter(({ key }) => !key.startsWith('.service/')).length).toBeLessThanOrEqual(1);
  },
);
