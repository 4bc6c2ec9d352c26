import { expect, test } from 'vitest';
import type { AlertMessage } from '../../src/alerts/alert-state.ts';
import { createSendAlert } from '../../src/alerts/send-alert.ts';
import { startReceiver } from './watch-fixture.ts';

const message: AlertMessage = {
  ...{ id: 'm-1', kind: 'raised', condition: 'deviceSilent', subjects: ['d1'], title: 'home: Device silent' },
  ...{ text: 'd1 has sent nothing', isUrgent: false, atMs: 0, attempts: 1 },
};
const never = new AbortController().signal;
const send = createSendAlert(undefined);

test.each([
  ['told', 200],
  ['told', 204],
  // Too slow, too early, too many: the same message can be taken later.
  ...[408, 425, 429, 500, 503].map((status) => ['failed', status] as const),
  ...[302, 400, 404, 410].map((status) => ['refused', status] as const),
] as const)('a message is %s if the receiver answers with HTTP %i', async (kind, status) => {
  const receiver = await startReceiver();
  receiver.answers.push(status);
  const outcome = await send(
    { id: 'ops', webhook: { url: receiver.url, headers: {} } },
    message,
    'home',
    never,
  );
  expect(outcome.kind).toBe(kind);
  if (kind === 'refused')
    expect(outcome).toMatchObject({
      why: expect.stringContaining(status === 302 ? 'configure the final address' : 'check the address'),
    });
});

test.each([
  [{ kind: 'raised', isUrgent: true }, 'failure'],
  [{ kind: 'raised', isUrgent: false }, 'warning'],
  [{ kind: 'recovered', isUrgent: false }, 'success'],
  [{ kind: 'test', isUrgent: false }, 'info'],
] as const)('the type of a webhook follows from the message: %j is %s', async (of, type) => {
  const receiver = await startReceiver();
  await send(
    { id: 'ops', webhook: { url: receiver.url, headers: {} } },
    { ...message, ...of },
    'home',
    never,
  );
  expect(receiver.received[0]!.json).toMatchObject({ type, kind: of.kind });
});

test('ntfy gets a title that is not ASCII encoded, and at most 4,000 bytes of text in whole characters', async () => {
  const receiver = await startReceiver();
  const channel = { id: 'phone', ntfy: { url: receiver.url } };
  await send(channel, { ...message, title: 'Zähler: Gerät stumm', text: 'ä'.repeat(2_000) }, 'home', never);
  await send(channel, { ...message, text: `a${'ä'.repeat(2_000)}` }, 'home', never);
  const [short, long] = receiver.received;
  const title = Buffer.from('Zähler: Gerät stumm').toString('base64');
  expect(short!.headers.title).toBe(`=?UTF-8?B?${title}?=`);
  expect(short!.text).toBe('ä'.repeat(2_000));
  expect(long!.text).toBe(`a${'ä'.repeat(1_999)}…`);
});
