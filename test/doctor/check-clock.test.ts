import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { checkClock } from '../../src/doctor/check-clock.ts';

const NOW_MS = Date.UTC(2026, 5, 1, 12);

/** A server with this Date header. */
async function serverAt(date: string): Promise<string> {
  const server = createServer((request, response) => {
    response.sendDate = false;
    // The answer may be a redirect to a server with another clock.
    if (request.url === '/') response.writeHead(302, { location: '/elsewhere', ...(date && { date }) });
    else response.writeHead(200, { date: new Date(NOW_MS).toUTCString() });
    response.end('a body');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
}

async function factOf(url: string, asked = NOW_MS, answered = NOW_MS) {
  const times = [asked, answered];
  const clock = { now: () => times.shift() ?? NOW_MS };
  const check = checkClock([{ name: 'it', url }], clock, '2026a');
  const [, fact] = await check.run(new AbortController().signal);
  return fact;
}

test.each<[date: string, state: string, found: string]>([
  [new Date(NOW_MS).toUTCString(), 'ok', 'the clock agrees with that of it'],
  [
    new Date(NOW_MS + 3_600_000).toUTCString(),
    'problem',
    'the clock of this machine is 3600 s behind that of it',
  ],
  ['yesterday', 'ok', 'it does not say what time it is'],
  ['', 'ok', 'it does not say what time it is'],
])('a server that says "%s": %s', async (date, state, found) => {
  expect(await factOf(await serverAt(date))).toMatchObject({ state, found });
});

test('the time of an answer is that of the middle between the request and the answer', async () => {
  const url = await serverAt(new Date(NOW_MS).toUTCString());
  expect(await factOf(url, NOW_MS - 60_000, NOW_MS + 60_000)).toMatchObject({ state: 'ok' });
  expect(await factOf(url, NOW_MS, NOW_MS + 60_000)).toMatchObject({
    found: 'the clock of this machine is 30 s ahead of that of it',
  });
});

test('a server that cannot be asked is no problem of the clock, and an interruption ends the check', async () => {
  expect(await factOf('http://127.0.0.1:1/')).toMatchObject({
    state: 'ok',
    found: expect.stringMatching(/^it cannot be asked for the time now \(/),
  });
  const stopped = AbortSignal.abort(new Error('stopped'));
  const check = checkClock([{ name: 'it', url: 'http://127.0.0.1:1/' }], { now: () => NOW_MS }, '2026a');
  await expect(check.run(stopped)).rejects.toThrow('stopped');
});
