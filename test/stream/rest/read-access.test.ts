import { describe, expect, test } from 'vitest';
import { encodeMessages } from '../../../src/contract/encode-messages.ts';
import { deviceId, telemetryBatch } from '../../support/messages.ts';
import { type Answer, startStreamService } from '../../support/stream-service.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { ALL, bodyOf, SOLAR, setUp, until } from './start-rest-service.ts';

describe('the rights of a caller', () => {
  test('device groups filter every read and the position still moves on', async () => {
    const { log, call, token } = await setUp();
    for (const device of [1, 2, 3]) await log.append(telemetryBatch(2, { device }));
    await log.append(encodeMessages([{ actor: 'a', action: 'b', event_time: 1 }], 'audit_logs'));
    const { next } = await log.bounds();
    const seen = async (deviceGroups: string[], path = SOLAR) => {
      const body = bodyOf(await call(path, { token: await token({ deviceGroups }) }));
      expect(body.nextOffset).toBe(next);
      return body.messages.map((message) => ('device' in message ? message.device : undefined));
    };
    expect(await seen(['roof'])).toEqual([deviceId(1), deviceId(1)]);
    expect(await seen(['yard', 'roof'], ALL)).toEqual([1, 1, 2, 2].map(deviceId));
    expect(await seen(['gone'], ALL)).toEqual([]);
    expect(await seen(['roof'], '/api/v1/tables/acme/audit_logs/latest')).toEqual([]);
  });

  test('audit messages need org:audit, alone and in the wildcard', async () => {
    const { log, call, token } = await setUp();
    await log.append(
      encodeMessages([{ actor: 'ops', action: 'token.revoke', event_time: 1, data: { n: 1 } }], 'audit_logs'),
    );
    const reader = await token({ permissions: ['search:read'] });
    const required = ['search:read', 'org:audit'];
    for (const name of ['-', '%2D', 'audit_logs', '%61udit_logs']) {
      const path = `/api/v1/tables/acme/${name}/latest`;
      const refused = await call(path, { token: reader });
      expect(refused).toMatchObject({ status: 403, body: { error: 'InsufficientScope', required } });
      expect(refused.headers['www-authenticate']).toContain('insufficient_scope');
      const auditor = await token({ permissions: required });
      expect(bodyOf(await call(path, { token: auditor })).messages[0]).toMatchObject({
        kind: 'audit',
        actor: 'ops',
      });
      const auditOnly = await token({ permissions: ['org:audit'] });
      expect(await call(path, { token: auditOnly })).toMatchObject({ status: 403 });
    }
    expect(bodyOf(await call(SOLAR, { token: reader })).count).toBe(0);
    expect(await call(SOLAR, { token: await token({ permissions: ['data:write'] }) })).toMatchObject({
      status: 403,
      body: { required: ['search:read'] },
    });
  });

  test('a missing token, another scheme and a bad token are 401 with the right challenge', async () => {
    const { call } = await setUp();
    const none: Record<string, string> = {};
    for (const headers of [none, { authorization: 'Basic YTpi' }, { authorization: 'Bearer' }]) {
      const answer = await call(SOLAR, { headers });
      expect(answer).toMatchObject({
        status: 401,
        body: { error: 'AuthenticationRequired', retryable: false },
      });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    const bad = await call(SOLAR, { headers: { authorization: 'bearer nonsense' } });
    expect(bad).toMatchObject({ status: 401, body: { error: 'InvalidToken' } });
    expect(bad.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
  });

  test('a revoked or expired token is refused at its next request', async () => {
    const { access, call, clock, token, tokenText } = await setUp();
    const other = await token();
    access.revoke(access.list()[0]!.tokenId);
    expect(await call(SOLAR, { token: other })).toMatchObject({
      status: 401,
      body: { error: 'InvalidToken' },
    });
    expect(await call(SOLAR, { token: tokenText })).toMatchObject({ status: 200 });
    await clock.advance(3_600_000);
    expect(await call(SOLAR, { token: tokenText })).toMatchObject({
      status: 401,
      body: { error: 'InvalidToken', message: 'the token has expired' },
    });
  });

  test('a held read ends within a second after its token expires or is revoked, and returns nothing from later', async () => {
    const clock = createTestClock();
    const startMs = clock.now();
    const service = await startStreamService({ clock, streamTimer: clock.startTimer });
    const log = await service.stream.logOf('acme');
    const hold = async (lifetimeMs: number) => {
      const { token, tokenId } = await service.access.issue({
        subject: 't',
        scopes: { acme: { permissions: ['search:read'] } },
        lifetimeMs,
      });
      const before = clock.timersPending;
      const held: { answer?: Answer; afterMs?: number; tokenId: string } = { tokenId };
      const startedMs = clock.now();
      void service.call(SOLAR, { token, headers: { prefer: 'wait=20' } }).then((answer) => {
        Object.assign(held, { answer, afterMs: clock.now() - startedMs });
      });
      await until(() => clock.timersPending >= before + 2);
      return held;
    };
    /** A log behind a network socket can start a timer after the clock has moved. Advancing by 0 rings it. */
    const untilAnswered = (held: { answer?: Answer }) =>
      until(() => {
        void clock.advance(0);
        return held.answer !== undefined;
      });
    const lasting = await hold(600_000);
    const brief = await hold(6_000);
    const revoked = await hold(600_000);
    // A message every half second keeps all of them waiting.
    for (let round = 1; round <= 24; round++) {
      if (round === 8) service.access.revoke(revoked.tokenId);
      await log.append(telemetryBatch(1, { first: round }));
      await clock.advance(500);
      if (round === 9) await untilAnswered(revoked);
      if (round === 12) await untilAnswered(brief);
    }
    // The clock moves by half seconds, and a log behind a socket may see one step late.
    const seenLateMs = 500;
    expect(revoked.answer).toMatchObject({ status: 401, body: { error: 'InvalidToken' } });
    expect(revoked.afterMs).toBeLessThanOrEqual(4_000 + seenLateMs);
    expect(brief.afterMs).toBeGreaterThanOrEqual(6_000);
    expect(brief.afterMs).toBeLessThanOrEqual(6_000 + seenLateMs);
    expect(bodyOf(brief.answer!)).toMatchObject({ count: 12, upToDate: true });
    expect(lasting.answer).toBeUndefined();
    // A log behind a socket can see the last message after the clock has moved, so the clock continues.
    const tokenLastsMs = 600_000;
    while (lasting.answer === undefined && clock.now() - startMs < tokenLastsMs) {
      await clock.advance(500);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(bodyOf(lasting.answer!).count).toBe(24);
    expect(lasting.afterMs).toBeGreaterThanOrEqual(12_500);
  });

  test('a foreign workgroup and an unknown workgroup get the same answer, byte for byte', async () => {
    const { call, token, tokenText } = await setUp();
    const foreign = await call('/api/v1/tables/other/solar/latest', { token: tokenText });
    const missing = await call('/api/v1/tables/nowhere/solar/latest', { token: tokenText });
    const gone = await call('/api/v1/tables/nowhere/solar/latest', { token: await token({}, 'nowhere') });
    const nonsense = await call('/api/v1/tables/..%2Facme/solar/latest', { token: tokenText });
    expect(foreign).toMatchObject({
      status: 403,
      body: { error: 'WorkgroupForbidden', required: ['search:read'] },
    });
    for (const answer of [missing, gone, nonsense]) {
      expect(answer.status).toBe(403);
      expect(answer.bytes.equals(foreign.bytes)).toBe(true);
    }
  });

  test('workgroups do not see each other', async () => {
    const { call, log, stream, token } = await setUp();
    await log.append(telemetryBatch(3));
    await (await stream.logOf('other')).append(telemetryBatch(1));
    const other = await token({}, 'other');
    expect(bodyOf(await call('/api/v1/tables/other/-/latest', { token: other })).count).toBe(1);
    expect(await call(SOLAR, { token: other })).toMatchObject({ status: 403 });
  });
});
