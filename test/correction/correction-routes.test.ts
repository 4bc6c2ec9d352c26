import { expect, test } from 'vitest';
import { DEVICE } from '../rollup/rollup-fixture.ts';
import { between, correctionServer, day, WORKGROUP } from './serve-corrections.ts';

const serveCorrections = correctionServer();

test('a correction is stored with what it changes, listed, and undone once', async () => {
  const { post, get, csv, audit, noted } = await serveCorrections();
  const changes = [{ day: '2026-06-02', device: DEVICE, source: 'default', beforeWh: 2_400, afterWh: 5_000 }];
  const checked = await post(day, { query: '?dryRun=true' });
  expect(checked).toMatchObject({
    status: 200,
    body: { outcome: 'checked', correction: { id: 1, days: changes } },
  });
  expect((await get()).body).toEqual({ corrections: [] });
  expect(audit.waiting(WORKGROUP)).toBe(0);

  const stored = await post(day);
  expect(stored).toMatchObject({
    status: 200,
    body: {
      outcome: 'stored',
      correction: {
        id: 1,
        kind: 'set_day',
        from: '2026-06-01T22:00:00.000Z',
        to: '2026-06-02T22:00:00.000Z',
        energyWh: 5_000,
        author: expect.stringMatching(/^token:\S+ dash$/),
        undoneBy: null,
        days: changes,
      },
    },
  });
  expect(audit.waiting(WORKGROUP)).toBe(1);
  expect((await get('?day=2026-06-02')).body).toMatchObject({ corrections: [{ id: 1 }] });
  expect((await get('?day=2026-06-03')).body).toEqual({ corrections: [] });

  expect(await post({ kind: 'undo', correction: 1, reason: 'no' })).toMatchObject({ status: 200 });
  expect(await post({ kind: 'undo', correction: 1, reason: 'no' })).toMatchObject({
    status: 400,
    body: { parameter: 'correction', message: 'correction: 1 is undone already, by 2' },
  });
  expect(noted()).toMatchObject([
    { action: 'correction.created', target: '1', data: { id: 1, days: 1, reason: 'the bill' } },
    { action: 'correction.undone', target: '1', data: { id: 2, days: 1, reason: 'no' } },
  ]);
  expect((await get('?inForce=true')).body).toEqual({ corrections: [] });
  expect((await get('?inForce=false')).body).toMatchObject({ corrections: [{ id: 2 }, { id: 1 }] });
  expect((await get('?limit=1')).body).toMatchObject({ corrections: [{ id: 2, kind: 'undo', undoes: 1 }] });
  expect((await get('?before=2')).body).toMatchObject({ corrections: [{ id: 1, undoneBy: 2 }] });
  const [titles, undo, set, ...others] = await csv();
  expect(titles).toBe(
    'correction,kind,device,source,table_name,field,day,timezone,from_time,to_time,energy_wh,changed_days,undoes,undone_by,reason,actor,happened_at',
  );
  expect(undo).toMatch(/^2,undo,.*,1,,no,token:\S+ dash,/);
  expect(set).toContain(
    `1,set_day,${DEVICE},default,,,2026-06-02,Europe/Paris,2026-06-01T22:00:00Z,2026-06-02T22:00:00Z,5000,1,,2,the bill,`,
  );
  expect(others).toEqual([]);
});

test('the same request with the same key is stored once, and another one with it is refused', {
  tags: ['slow'],
}, async () => {
  const { post, get } = await serveCorrections();
  expect(await post({ ...day, key: 'a' })).toMatchObject({ body: { outcome: 'stored' } });
  expect(await post({ ...day, key: 'a' })).toMatchObject({
    status: 200,
    body: { outcome: 'stored-before', correction: { id: 1 } },
  });
  expect(await post({ ...day, energyWh: 1, key: 'a' })).toMatchObject({
    status: 400,
    body: { parameter: 'key' },
  });
  expect((await get()).body.corrections).toHaveLength(1);
});

const refused: ReadonlyArray<readonly [body: object, parameter: string]> = [
  [{ ...day, reason: ' ' }, 'reason'],
  [{ ...day, day: '2026-02-30' }, 'day'],
  [{ ...day, day: '2026-06-10' }, 'day'],
  [{ ...day, day: '9999-12-31' }, 'day'],
  [{ ...day, day: '0000-01-01' }, 'day'],
  [{ ...day, device: 'garage' }, 'device'],
  [{ ...day, device: '00000000-0000-4000-8000-00000000000f' }, 'device'],
  [{ ...day, source: 'roof' }, 'source'],
  [{ ...day, energyWh: 1.5 }, 'energyWh'],
  [{ ...day, energyWh: -1 }, 'energyWh'],
  [{ ...day, energyWh: 1e12 }, 'energyWh'],
  [between('02T10:00:00', '02T10:00:00'), 'to'],
  [between('02T10:01:00', '02T11:00:00'), 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '1969-12-31T23:00Z' }, 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '0000-01-01T00:00+01:00' }, 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), to: '9999-12-31T23:00-10:00' }, 'to'],
  [between('02T10:00:00', '02T11:01:00'), 'to'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '2026-06-02T10:00' }, 'from'],
  [{ ...between('02T10:00:00', '02T11:00:00'), from: '2026-01-02T10:00Z' }, 'to'],
  [{ ...between('02T10:00:00', '02T11:00:00'), kind: 'fill', energyWh: undefined }, 'from'],
  [
    { ...between('02T10:00:00', '02T11:00:00'), kind: 'exclude', energyWh: undefined, field: 'power' },
    'field',
  ],
  [{ kind: 'undo', correction: 9, reason: 'x' }, 'correction'],
  [{ kind: 'drop', reason: 'x' }, 'kind'],
];

test('a request that cannot be stored is refused, and its parameter named', { tags: ['slow'] }, async () => {
  const { post, get } = await serveCorrections();
  for (const [body, parameter] of refused) {
    const { status, body: told } = await post(body);
    expect
      .soft([status, told.parameter, told.message], JSON.stringify(body))
      .toEqual([400, parameter, expect.stringContaining(`${parameter}: `)]);
  }
  expect((await get()).body).toEqual({ corrections: [] });
});

test('energy can be set beside time that is set, but not in it, and the error names the other correction', {
  tags: ['slow'],
}, async () => {
  const { post } = await serveCorrections();
  expect(await post(between('02T10:00:00', '02T11:00:00'))).toMatchObject({ status: 200 });
  expect(await post(day)).toMatchObject({
    status: 400,
    body: { message: 'day: correction 1 says a part of this time already; undo that first' },
  });
  expect(await post(between('02T10:45:00', '02T12:00:00'))).toMatchObject({
    status: 400,
    body: { message: 'from: correction 1 says a part of this time already; undo that first' },
  });
  const exclude = { ...between('02T09:00:00', '02T12:00:00'), kind: 'exclude', energyWh: undefined };
  expect(await post(exclude)).toMatchObject({ status: 200 });
  expect(await post(exclude)).toMatchObject({ status: 400, body: { parameter: 'from' } });
  expect(await post({ ...exclude, field: 'power' })).toMatchObject({
    status: 400,
    body: { parameter: 'field' },
  });
  expect(await post({ ...exclude, field: 'energy' })).toMatchObject({
    status: 200,
    body: { correction: { table: null, field: 'energy' } },
  });
  // Energy can also be set where readings are excluded.
  for (const [from, to] of [
    ['02T11:00:00', '02T12:00:00'],
    ['02T09:00:00', '02T10:00:00'],
  ] as const)
    expect(await post(between(from, to))).toMatchObject({ status: 200 });
});

test('without a worker, with a body that is too large or no JSON, and with other methods, the answer is a specific error', async () => {
  const { post, get } = await serveCorrections({
    correct: async () => ({ kind: 'not-running' }),
    list: async () => ({ kind: 'not-running' }),
  });
  expect(await post(day)).toMatchObject({ status: 503, body: { error: 'StorageUnavailable' } });
  expect(await get()).toMatchObject({ status: 503 });
  expect(await post({ ...day, reason: 'x'.repeat(20_000) })).toMatchObject({ status: 413 });
  expect(await post('{')).toMatchObject({ status: 400 });
  expect(await get('?dya=2026-06-02')).toMatchObject({ status: 400, body: { parameter: 'dya' } });
});
