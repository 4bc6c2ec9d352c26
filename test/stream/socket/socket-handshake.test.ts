import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { type ClientOptions, connectTo } from '../../support/socket-client.ts';
import { until } from '../../support/until.ts';
import { refusal, request, setUp } from './start-socket-service.ts';

describe('a handshake', () => {
  test('accepts the token and the workgroup in its auth, in the query or in an Authorization header', async () => {
    const service = await setUp();
    const forms: ClientOptions[] = [
      { auth: { token: service.tokenText, workgroupId: 'acme' } },
      { query: { token: service.tokenText, orgName: 'acme' } },
      { extraHeaders: { authorization: `Bearer ${service.tokenText}` }, query: { orgName: 'acme' } },
      { extraHeaders: { authorization: `Bearer ${service.tokenText}` } },
    ];
    for (const transport of ['websocket', 'polling']) {
      for (const form of forms) {
        const client = await connectTo(service, { ...form, transports: [transport] });
        expect(await client.subscribe(request()).answer).toHaveProperty('nextOffset');
        client.close();
      }
    }
  });

  test('is refused with the same error map as a REST read', async () => {
    const service = await setUp();
    const writer = await service.token({ permissions: ['data:write'] });
    const cases: Array<[auth: Record<string, unknown>, path: string]> = [
      [{ token: 'nonsense', workgroupId: 'acme' }, 'acme'],
      [{ token: `${service.tokenText}x`, workgroupId: 'acme' }, 'acme'],
      [{ token: service.tokenText, workgroupId: 'other' }, 'other'],
      [{ token: service.tokenText, workgroupId: 'nowhere' }, 'nowhere'],
      [{ token: service.tokenText, workgroupId: '__proto__' }, '__proto__'],
      [{ token: writer, workgroupId: 'acme' }, 'acme'],
    ];
    for (const [auth, workgroupId] of cases) {
      const { body } = await service.call(`/api/v1/tables/${workgroupId}/solar/latest`, {
        token: String(auth.token),
      });
      expect(await refusal(service, { auth })).toEqual(body);
    }
    expect(await refusal(service, {})).toMatchObject({ error: 'AuthenticationRequired', status: 401 });
    expect(await refusal(service, { auth: { token: 7, workgroupId: ['acme'] } })).toMatchObject({
      error: 'AuthenticationRequired',
    });
  });

  test('must name the workgroup if the token has several', async () => {
    const service = await setUp();
    const scope = { permissions: ['search:read' as const] };
    const { token } = await service.access.issue({
      subject: 'both',
      scopes: { acme: scope, other: scope },
      lifetimeMs: 60_000,
    });
    expect(await refusal(service, { auth: { token } })).toMatchObject({
      error: 'InvalidRequest',
      parameter: 'workgroupId',
    });
    await connectTo(service, { auth: { token, workgroupId: 'other' } });
    await connectTo(service, { query: { token, orgName: 'other' } });
    const one = service.tokenText;
    const unclear: ClientOptions[] = [
      { auth: { token: one, workgroupId: ['acme'] } },
      { auth: { token: one, workgroupId: { id: 'other' } } },
    ];
    for (const form of unclear)
      expect(await refusal(service, form)).toMatchObject({
        error: 'InvalidRequest',
        parameter: 'workgroupId',
      });
  });

  test('leaves no token in the log, in any form and with any result', { tags: ['slow'] }, async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
    const service = await setUp({ logger });
    const { tokenText } = service;
    const client = await connectTo(service, { query: { token: tokenText, orgName: 'acme' } });
    await client.subscribe(request({ token: tokenText })).answer;
    await client.subscribe({ requestId: tokenText }).answer;
    client.close();
    await refusal(service, { auth: { token: `${tokenText}x`, workgroupId: 'acme' } });
    await refusal(service, { query: { token: tokenText, orgName: 'other' }, transports: ['polling'] });
    await until('the end is logged', () => lines.some((line) => line.includes('socket.disconnected')));
    const signature = tokenText.split('.')[2]!.slice(0, 20);
    expect(lines.filter((line) => line.includes(signature))).toEqual([]);
  });

  test('is refused if the token or the workgroup has too many connections, until one ends', async () => {
    const limits = { connectionsPerTokenMax: 2, connectionsPerWorkgroupMax: 3 };
    const service = await setUp({ socketLimits: limits });
    const auth = { token: service.tokenText, workgroupId: 'acme' };
    const others = { token: await service.token(), workgroupId: 'acme' };
    const first = await connectTo(service, { auth });
    await connectTo(service, { auth });
    expect(await refusal(service, { auth })).toMatchObject({ error: 'RateLimited', retryable: true });
    await connectTo(service, { auth: others });
    expect(await refusal(service, { auth: others })).toMatchObject({ error: 'RateLimited' });
    first.close();
    await until('it has gone', () => service.socket.counts().sockets === 2);
    await connectTo(service, { auth });
  });
});

test('connections without a valid token count for their address and not for other tokens', async () => {
  const { token, baseUrl } = await setUp({ requestsPerMinuteMax: 6 });
  const connectWith = (text: string) =>
    connectTo({ baseUrl }, { auth: { token: text, workgroupId: 'acme' } }).then(
      () => 'connected',
      (error: { data?: { error: string } }) => error.data?.error,
    );
  const codes: unknown[] = [];
  for (let number = 0; number < 9; number++) codes.push(await connectWith(`invented-${number}`));
  expect(codes).toEqual([...Array(6).fill('InvalidToken'), ...Array(3).fill('RateLimited')]);
  expect(await connectWith(await token())).toBe('connected');
});
