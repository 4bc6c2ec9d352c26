// @module-tag slow
import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import type { IssueRequest } from '../../src/access/grant.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { type MetricDefinition, metricTable } from '../../src/metrics/metric-table.ts';
import { freePort } from '../support/free-port.ts';
import { parseScrape, type Scrape } from '../support/parse-scrape.ts';
import { promtool, runPromtool } from '../support/promtool.ts';
import { isSoak } from '../support/rounds.ts';
import { createServiceProcess, type ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

async function configOf(): Promise<ConfigInput> {
  return {
    metrics: { port: await freePort() },
    pipeline: { pollEvery: '200ms', rollupEvery: '300ms', publishEvery: '300ms' },
    workgroups: [
      {
        id: 'home',
        deviceGroups: { garage: [DEVICE] },
        energyStreams: [
          { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' },
        ],
      },
      // Nobody listens there, so each poll fails.
      { id: 'broken', upstream: { url: 'http://127.0.0.1:9', workgroup: 'x', table: '-', token: 'x' } },
    ],
    exports: [
      {
        id: 'erp',
        workgroup: 'home',
        report: 'daily_energy',
        range: 'yesterday',
        format: 'csv',
        schedule: '0 6 * * *',
        destination: { folder: './exported' },
      },
    ],
  };
}

async function scrape({ config }: Pick<ServiceProcess, 'config'>): Promise<Scrape> {
  const answer = await fetch(`http://127.0.0.1:${config.metrics.port}/metrics`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  return parseScrape(await answer.text());
}

function send({ url, token }: ServiceProcess, workgroup: string, messages: unknown): Promise<Response> {
  return fetch(`${url}/api/v1/tables/${workgroup}/solar/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(messages),
  });
}

test.runIf(isSoak)('a real service reports its work', async () => {
  const service = await createServiceProcess(await configOf());
  await service.start();
  await checkAccess(service);

  const now = Date.now();
  const readings = [1_000, 1_100, 'high', 1_200, true].map((total_wh, index) => ({
    device: DEVICE,
    source: 'roof',
    event_time: now - (index + 1) * 120_000,
    data: { total_wh },
  }));
  expect((await send(service, 'home', readings)).status).toBe(200);
  expect((await send(service, 'home', { not: 'a list' })).status).toBe(400);
  for (const workgroup of [randomUUID(), randomUUID()])
    expect((await send(service, workgroup, readings)).status).toBe(403);

  const home = { workgroup: 'home' };
  let found = await scrape(service);
  await until('everything is published and counted', async () => {
    found = await scrape(service);
    return (
      found.value('wattline_quarantined', { ...home, reason: 'not_a_number' }) === 2 &&
      found.value('wattline_stage_failures_total', { workgroup: 'broken', stage: 'poll' })! >= 2 &&
      found.value('wattline_export_last_success_timestamp_seconds', home) === undefined &&
      found.value('wattline_exports_pending', home) === 0 &&
      found.value('wattline_stream_oldest_message_timestamp_seconds', home) !== undefined
    );
  });
  expect(Object.fromEntries(found.samples.flatMap(valueOfHome))).toMatchObject({
    wattline_stream_messages_received_total: 5,
    wattline_landed_messages_total: 5,
    wattline_quarantine_entries_total: 2,
    wattline_poll_lag_messages: 0,
    wattline_poll_lag_seconds: 0,
    wattline_up_to_date: 1,
    wattline_gaps_open: 0,
    wattline_gap_open_seconds: 0,
    wattline_config_problems: 0,
    wattline_daily_energy_restated_total: 0,
    wattline_exports_outdated: 0,
    wattline_exports_failed: 0,
    wattline_newest_event_timestamp_seconds: (now - 120_000) / 1000,
    wattline_generation: expect.any(Number),
  });
  const seconds = Date.now() / 1000;
  for (const name of ['generation', 'stream_oldest_message']) {
    const value = found.value(`wattline_${name}_timestamp_seconds`, home)!;
    expect(Math.abs(seconds - value)).toBeLessThan(600);
  }
  for (const name of ['warehouse_bytes', 'lake_bytes'])
    expect(found.value(`wattline_${name}`, home)).toBeGreaterThan(1_000);
  expect(found.value('wattline_stream_rejected_total', { ...home, reason: 'InvalidRequest' })).toBe(1);
  // A caller cannot add labels by naming workgroups.
  expect(found.value('wattline_stream_rejected_total', { workgroup: '', reason: 'WorkgroupForbidden' })).toBe(
    2,
  );
  expect(found.value('wattline_up_to_date', { workgroup: 'broken' })).toBe(0);
  expect(found.value('wattline_stage_failures_total', { ...home, stage: 'publish' })).toBe(0);
  expect(found.value('wattline_stage_duration_seconds_count', { stage: 'publish' })).toBeGreaterThan(0);
  // Each reading was two to ten minutes old, so all are below 15 minutes and none below one.
  const delays = (le: string) => found.value('wattline_event_delay_seconds_bucket', { le });
  expect(['60', '300', '900', '+Inf'].map(delays)).toEqual([0, 2, 5, 5]);
  expect(found.value('wattline_event_delay_seconds_sum')).toBeGreaterThan(1_700);
  const route = '/api/v1/tables/:workgroupId/:tableName/messages';
  const requests = (status: string) =>
    found.value('wattline_http_request_duration_seconds_count', { method: 'POST', route, status });
  expect(['200', '400', '403'].map(requests)).toEqual([1, 1, 2]);

  checkNames(found);
  // The test of the rules says if there is no promtool.
  if (promtool) expect(runPromtool(['check', 'metrics'], found.text)).toEqual({ code: 0, text: '' });
});

/** The value of a sample with no other label than the workgroup or the export. */
function valueOfHome({ name, labels, value }: Scrape['samples'][number]): Array<[string, number]> {
  const others = Object.keys(labels).filter((label) => label !== 'workgroup' && label !== 'export');
  return labels.workgroup === 'home' && others.length === 0 ? [[name, value]] : [];
}

/** The names, types, texts and labels are equal to the table. No label has an id. */
function checkNames({ metrics, samples, text }: Scrape): void {
  const table = Object.entries<MetricDefinition>(metricTable);
  expect(Object.fromEntries(metrics)).toEqual(
    Object.fromEntries(table.map(([name, { type, help }]) => [name, { type, help }])),
  );
  for (const { name, labels } of samples) {
    const base = name.replace(/_(?:bucket|sum|count)$/, '');
    const { labels: allowed } = new Map(table).get(name) ?? new Map(table).get(base)!;
    expect([...allowed, 'le']).toEqual(expect.arrayContaining(Object.keys(labels)));
  }
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/i);
  expect(text).not.toContain('roof');
}

/**
 * Without a token only the port of the metrics answers. On the port of the API, a token must be for
 * everything.
 */
async function checkAccess({ url, config }: ServiceProcess): Promise<void> {
  const access = await createAccess({ dataDir: config.dataDir, ...config.access, clock: systemClock });
  const ask = async (scopes?: IssueRequest['scopes']) => {
    const token =
      scopes &&
      (await access.issue({ subject: 'test', scopes, lifetimeMs: HOUR_MS }, { unlisted: true })).token;
    const headers = token ? { authorization: `Bearer ${token}` } : {};
    const answer = await fetch(`${url}/metrics`, { headers });
    return [answer.status, (await answer.text()).includes('wattline_build_info')];
  };
  const admin = { permissions: ['org:admin' as const] };
  expect(await ask()).toEqual([401, false]);
  expect(await ask({ home: admin })).toEqual([403, false]);
  expect(await ask({ home: admin, broken: { permissions: ['search:read', 'org:audit'] } })).toEqual([
    403,
    false,
  ]);
  expect(await ask({ home: { ...admin, deviceGroups: ['garage'] }, broken: admin })).toEqual([403, false]);
  expect(await ask({ home: admin, broken: admin })).toEqual([200, true]);
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`http://127.0.0.1:${config.metrics.port}/metrics`, { method: 'POST' })).status).toBe(
    405,
  );
  expect((await fetch(`http://127.0.0.1:${config.metrics.port}/health`)).status).toBe(404);
}

describe('one role alone', () => {
  test.each([
    ['stream', ['wattline_stream_messages_received_total', 'wattline_http_request_duration_seconds']],
    ['worker', ['wattline_up_to_date', 'wattline_stage_duration_seconds']],
    ['report', ['wattline_http_request_duration_seconds']],
  ] as const)('a %s has its own metrics, and the metrics of every process', async (role, names) => {
    const service = await createServiceProcess(await configOf(), role);
    await service.start();
    onTestFinished(async () => void (await service.stop()));
    let found: Scrape | undefined;
    await until('it has metrics', async () => {
      found = await scrape(service).catch(() => undefined);
      return found?.metrics.has(names[0]) ?? false;
    });
    const always = ['wattline_build_info', 'process_cpu_seconds_total'];
    const own = ['wattline_stream_', 'wattline_up_to_date', 'wattline_http_'];
    const shown = [...found!.metrics.keys()].filter((name) => name !== 'wattline_stream_retention_seconds');
    expect(shown).toEqual(expect.arrayContaining([...always, ...names]));
    for (const prefix of own.filter((one) => !names.some((name) => name.startsWith(one))))
      expect(shown.filter((name) => name.startsWith(prefix))).toEqual([]);
    expect(found!.value('wattline_build_info')).toBe(1);
    expect(found!.samples.find(({ name }) => name === 'wattline_build_info')!.labels.roles).toBe(role);
  });
});
