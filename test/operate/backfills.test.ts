import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import type { StatusAnswer } from '../../src/operate/status-schema.ts';
import { GARAGE, homeWorkgroup, openService, readings } from './support.ts';

interface Backfills {
  backfills: Array<{ id: number; state: string; messagesLanded: number }>;
  total: number;
}

test('a backfill is previewed, started by an administrator, listed, audited and not cancelled twice', async () => {
  const at = await openService({ workgroups: [homeWorkgroup] });
  await at.send(readings(GARAGE, ['2026-05-16T22:00:00Z', 1_000], ['2026-05-17T10:00:00Z', 2_000]));
  await at.untilAnswer<StatusAnswer>('status', ({ storedMessages }) => storedMessages === 2);
  const from = new Date(Date.now() - DAY_MS).toISOString();
  const body = { source: 'stream', from };

  const reader = await at.issue({ permissions: ['search:read'] });
  for (const [method, path] of [
    ['POST', 'backfills'],
    ['POST', 'backfills/preview'],
    ['DELETE', 'backfills/1'],
    ['POST', 'quarantine/retry'],
  ] as const) {
    const refused = await at.ask(method, path, { token: reader, ...(method === 'POST' && { body }) });
    expect([path, refused]).toMatchObject([path, { status: 403, body: { required: ['org:admin'] } }]);
  }
  const plan = await at.ask('POST', 'backfills/preview', { body });
  expect(plan).toMatchObject({
    status: 200,
    body: { source: 'stream', messages: 2, dayCount: expect.any(Number) },
  });
  expect((await at.get('backfills')).body).toEqual({ backfills: [], total: 0 });

  const started = await at.ask('POST', 'backfills', { body });
  expect(started).toMatchObject({ status: 202, body: { id: 1, source: 'stream', from } });
  const { backfills } = await at.untilAnswer<Backfills>(
    'backfills',
    (answer) => answer.backfills[0]?.state === 'done',
  );
  expect(backfills).toMatchObject([{ id: 1, messagesLanded: 0, progress: null, pieces: expect.any(Number) }]);

  const [columns, row, ...others] = await at.csv('backfills');
  expect(columns).toMatch(/^backfill,reads,from_time,to_time,.*,messages_landed,progress$/);
  expect(row).toMatch(/^1,stream,2[^,]+Z,[^,]*,,done,/);
  expect(others).toEqual([]);

  expect(await at.ask('DELETE', 'backfills/1')).toMatchObject({ status: 404, body: { error: 'NotFound' } });
  expect(await at.ask('DELETE', 'backfills/x')).toMatchObject({ status: 400, body: { parameter: 'id' } });
  expect((await at.get('gaps')).body).toEqual({ gaps: [], total: 0 });
  expect(await at.csv('gaps')).toEqual(['gap,reason,from_time,to_time,detected_at,available,note']);

  const { entries } = await at.untilAnswer<{
    entries: Array<{ actor: string; action: string }>;
    next: string | null;
  }>('audit', (answer) => answer.entries.some(({ action }) => action === 'backfill.cancelled'));
  expect(entries.find(({ action }) => action === 'backfill.requested')).toMatchObject({
    actor: expect.stringMatching(/^token:\S+ /),
    target: 'stream',
    data: { source: 'stream', fromMs: Date.parse(from) },
  });
  const [newest, second] = entries;
  const [titles, line] = await at.csv('audit?limit=1');
  expect(titles).toBe('happened_at,actor,action,target,data');
  expect(line).toContain(`Z,${newest!.actor},${newest!.action},`);
  const page = (await at.get('audit?limit=1')).body as { entries: unknown[]; next: string };
  expect(page.entries).toEqual([newest]);
  const next = (await at.get(`audit?limit=1&before=${page.next}`)).body as { entries: unknown[] };
  expect(next.entries).toEqual([second]);
  const last = (await at.get(`audit?limit=${entries.length}`)).body as { next: null };
  expect(last.next).toBeNull();
});

test('a wrong request is refused by its member', async () => {
  const at = await openService({ workgroups: [homeWorkgroup] });
  for (const [body, parameter] of [
    [{ source: 'stream' }, 'from'],
    [{ source: 'stream', from: 'yesterday' }, 'from'],
    [{ source: 'stream', from: '2026-05-17', to: '2026-05-17' }, 'to'],
    [{ source: 'gaps', from: '2026-05-17' }, 'from'],
    [{ source: 'archive', from: '2026-05-17', table: 'other' }, 'table'],
    [{ source: 'files' }, 'source'],
    [{ source: 'gaps', messagesPerSecond: 0 }, 'messagesPerSecond'],
  ]) {
    const answer = await at.ask('POST', 'backfills', { body });
    expect([body, answer]).toMatchObject([body, { status: 400, body: { parameter } }]);
    // The words are not those of the command line.
    expect(JSON.stringify(answer.body)).not.toContain('--');
  }
});
