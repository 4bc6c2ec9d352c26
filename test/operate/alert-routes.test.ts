import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { type AlertRequest, changeByHand } from '../../src/alerts/change-by-hand.ts';
import { listAlerts } from '../../src/alerts/list-alerts.ts';
import { createAudit } from '../../src/audit/audit.ts';
import { openAuditSpool } from '../../src/audit/spool.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { registerAlertRoutes } from '../../src/operate/alert-routes.ts';
import { createOperatorGuard } from '../../src/operate/operator-guard.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { openWatch, silent, startReceiver } from '../alerts/watch-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The routes over real alerts of two silent devices; what asks the worker asks the alerts directly. */
async function openRoutes() {
  const receiver = await startReceiver();
  const alerts = {
    channels: [{ id: 'ops', webhook: { url: receiver.url } }],
    conditions: { deviceSilent: { for: '0s' } },
  };
  const watched = openWatch(alerts);
  const { watch, clock } = watched;
  watched.facts.silences = [];
  await watched.round();
  watched.facts.silences = silent('garage', 'roof');
  await watched.round();
  const dataDir = tempDir();
  const config = configSchema.parse({ workgroups: [{ id: 'home' }], alerts });
  const access = await createAccess({ dataDir, issuer: 'wattline', clock });
  const audit = createAudit({ dataDir, actor: 'test', clock });
  const lake = await openLakeReader({ lakeDir: join(dataDir, 'lake'), threads: 1 });
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000, clock });
  const requests: AlertRequest[] = [];
  registerAlertRoutes(app, {
    guard: createOperatorGuard({ workgroups: createWorkgroups(config) }),
    askOwner: async (_, __, request) => {
      requests.push(request as AlertRequest);
      const state = await watch.change(changeByHand(request as AlertRequest, clock.now()));
      return listAlerts(state, { page: {}, channels: config.alerts.channels, nowMs: clock.now() }) as never;
    },
    audit,
    lake,
  });
  onTestFinished(() => app.close());
  onTestFinished(() => lake.close());
  const { token } = await access.issue({
    subject: 'dash',
    scopes: { home: { permissions: ['search:read', 'org:admin'] } },
    lifetimeMs: HOUR_MS,
  });
  const post = async (action: string, payload: object) =>
    (
      await app.inject({
        method: 'POST',
        url: `/api/v1/orgs/home/alerts/${action}`,
        headers: { authorization: `Bearer ${token}` },
        payload,
      })
    ).json();
  const spool = openAuditSpool(dataDir, 'home');
  const audited = () => spool.waiting().map((name) => spool.read(name));
  return { post, requests, audited };
}

test('an alert of one subject is noted as seen, and the other one of its condition stays unseen', async () => {
  const { post, requests, audited } = await openRoutes();
  const seen = await post('seen', { condition: 'deviceSilent', subject: 'roof' });
  expect(requests).toEqual([
    { do: 'see', condition: 'deviceSilent', subject: 'roof', by: expect.any(String) },
  ]);
  expect(seen).toMatchObject({
    unseen: 1,
    alerts: [
      { subject: 'garage', seenBy: null },
      { subject: 'roof', seenBy: expect.stringMatching(/^token:.* dash$/) },
    ],
  });
  expect(await post('seen', { condition: 'deviceSilent' })).toMatchObject({ unseen: 0 });
  const [of, all] = audited();
  expect(of).toMatchObject({
    action: 'alerts.seen',
    target: 'deviceSilent',
    data: { subject: 'roof' },
  });
  expect(all).not.toHaveProperty('data');
});

test('minutes of a snooze are minutes', async () => {
  const { post, requests } = await openRoutes();
  await post('snooze', { condition: 'deviceSilent', minutes: 5 });
  expect(requests).toMatchObject([{ do: 'snooze', condition: 'deviceSilent', forMs: 5 * MINUTE_MS }]);
});
