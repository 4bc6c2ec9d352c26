import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import type { IssueRequest } from '../../src/access/grant.ts';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import {
  type CorrectionRoutesOptions,
  registerCorrectionRoutes,
} from '../../src/correction/correction-routes.ts';
import { listCorrections } from '../../src/correction/list-corrections.ts';
import { storeAuditedCorrection } from '../../src/correction/store-correction.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { answerCorrections } from '../../src/operate/answer-corrections.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { DEVICE, type EnergySite, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { filledShard } from '../warehouse/warehouse-fixture.ts';

export const WORKGROUP = 'acme';
export const OTHER = '00000000-0000-4000-8000-000000000002';
export const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [{ table: 't', field: 'energy', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' }],
};
export const NOW_MS = Date.UTC(2026, 5, 10);
export const day = {
  kind: 'set_day',
  device: DEVICE,
  source: 'default',
  day: '2026-06-02',
  energyWh: 5_000,
  reason: 'the bill',
};

/** A correction of an hour or so. Times are of June 2026, such as `02T10:00:00`. */
export const between = (from: string, to: string) => ({
  kind: 'set',
  device: DEVICE,
  source: 'default',
  from: `2026-06-${from}Z`,
  to: `2026-06-${to}Z`,
  energyWh: 1,
  reason: 'x',
});

/** Two devices with 2400 Wh each on 2 June. */
async function fillPlant(shard: Shard) {
  for (const device of [DEVICE, OTHER])
    await landReadings(shard, [
      { device, event_time: '2026-06-01T22:00:00Z', data: { energy: 0 } },
      { device, event_time: '2026-06-02T22:00:00Z', data: { energy: 2_400 } },
    ]);
  await rollUpSite(shard, site, NOW_MS);
}

/**
 * Fills the warehouse once for a file of tests.
 * @returns a function that serves the routes on a copy of it, with real access, over a real port; what asks
 * the owner of the warehouse asks it directly
 */
export function correctionServer() {
  const openPlant = filledShard(fillPlant);
  return async (instead: Partial<CorrectionRoutesOptions> = {}) => {
    const dataDir = tempDir();
    const clock = createTestClock(NOW_MS);
    const shard = await openPlant(clock);
    const access = await createAccess({ dataDir, issuer: 'wattline', clock });
    const audit = createAudit({ dataDir, actor: 'test', clock });
    const workgroups = createWorkgroups(
      configSchema.parse({
        workgroups: [{ id: WORKGROUP, timezone: site.timezone, deviceGroups: { mine: [DEVICE] } }],
      }),
    );
    const lake = await openLakeReader({
      lakeDir: join(dataDir, 'lake'),
      hasPublished: () => false,
      threads: 1,
    });
    const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000, clock });
    const answered = async <Answer>(work: Promise<Answer>) =>
      work.then(
        (answer) => ({ kind: 'answer' as const, answer }),
        (error: Error) => ({ kind: 'failed' as const, error }),
      );
    registerCorrectionRoutes(app, {
      correct: (_, { request, ...options }) =>
        answered(
          storeAuditedCorrection(shard, request, {
            ...options,
            nowMs: clock.now(),
            closeAfterMs: 2 * DAY_MS,
            audit,
            logger: silentLogger,
          }),
        ),
      list: (_, asked) =>
        answered(shard.read((connection) => listCorrections(connection, asked, site.timezone))),
      workgroups,
      answer: answerCorrections(lake),
      ...instead,
    });
    onTestFinished(() => lake.close());
    await app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(async () => {
      // The client keeps connections open, and `close` would wait for them.
      app.server.closeAllConnections();
      await app.close();
    });
    const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/v1/orgs/${WORKGROUP}/corrections`;
    const issue = async (scope: IssueRequest['scopes'][string]) =>
      (await access.issue({ subject: 'dash', scopes: { [WORKGROUP]: scope }, lifetimeMs: HOUR_MS })).token;
    const both = await issue({ permissions: ['search:read', 'data:correct'] });
    const ask = async (
      method: string,
      query: string,
      { body, token = both }: { body?: unknown; token?: string } = {},
    ) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(`${url}${query}`, {
        method,
        headers,
        ...(body !== undefined && { body: text }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    return {
      audit,
      /** The entries for the audit log. */
      noted() {
        const spool = openAuditSpool(dataDir, WORKGROUP);
        return spool.waiting().map((name) => spool.read(name)!);
      },
      shard,
      issue,
      post: (body: unknown, more: { query?: string; token?: string } = {}) =>
        ask('POST', more.query ?? '', { body, ...(more.token && { token: more.token }) }),
      /** The lines of the list as CSV. */
      async csv() {
        const headers = { Authorization: `Bearer ${both}`, Accept: 'text/csv' };
        return (await (await fetch(url, { headers })).text()).trimEnd().split('\r\n');
      },
      get: (query = '', token?: string) => ask('GET', query, token ? { token } : {}),
    };
  };
}
