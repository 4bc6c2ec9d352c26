import { expect, test } from 'vitest';
import type { ListedCorrection } from '../../src/correction/list-corrections.ts';
import { TransientError } from '../../src/lib/errors.ts';
import { DEVICE, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { between, correctionServer, day, NOW_MS, OTHER, site } from './serve-corrections.ts';

const serveCorrections = correctionServer();

test('only a token with the permission can correct, and one with device groups only its devices', {
  tags: ['slow'],
}, async () => {
  const { post, get, issue } = await serveCorrections();
  const writer = await issue({ permissions: ['search:read', 'data:write', 'org:audit'] });
  expect(await post(day, { token: writer })).toMatchObject({
    status: 403,
    body: { required: ['data:correct'] },
  });
  const mine = await issue({ permissions: ['search:read', 'data:correct'], deviceGroups: ['mine'] });
  expect(await post({ ...day, device: OTHER }, { token: mine })).toMatchObject({
    status: 400,
    body: { parameter: 'device' },
  });
  const byOther = {
    ...{ ...between('02T10:00:00', '02T11:00:00'), energyWh: undefined, kind: 'fill', replace: true },
    like: { device: OTHER, source: 'default' },
  };
  expect(await post(byOther, { token: mine })).toMatchObject({
    status: 400,
    body: { message: 'like: no reading of this device has been taken in' },
  });
  await post({ ...day, device: OTHER });
  expect(await post(day, { token: mine })).toMatchObject({ status: 200 });
  expect((await get('', mine)).body).toMatchObject({ corrections: [{ id: 2 }] });
  expect((await get('', mine)).body.corrections).toHaveLength(1);
  expect((await get(`?device=${OTHER}`, mine)).body).toEqual({ corrections: [] });
  const undo = (correction: number) => post({ kind: 'undo', correction, reason: 'x' }, { token: mine });
  expect(await undo(1)).toMatchObject({
    status: 400,
    body: { message: 'correction: there is no correction 1' },
  });
  expect(await undo(2)).toMatchObject({ status: 200 });
  expect(await get('', await issue({ permissions: ['data:correct'] }))).toMatchObject({ status: 403 });
});

test('a token of device groups does not see that an estimate was made from a device of others', {
  tags: ['slow'],
}, async () => {
  const { post, get, issue, shard } = await serveCorrections();
  const hours = Array.from({ length: 7 * 24 }, (_, hour) => hour);
  for (const device of [DEVICE, OTHER])
    await landReadings(
      shard,
      hours.map((hour) => ({
        device,
        event_time: new Date(Date.UTC(2026, 5, 2, 23 + hour)).toISOString(),
        data: { energy: 2_500 + hour * 100 },
      })),
    );
  await rollUpSite(shard, site, NOW_MS);
  const fill = { ...between('04T10:00:00', '04T11:00:00'), energyWh: undefined, kind: 'fill', replace: true };
  const stored = await post({ ...fill, like: { device: OTHER, source: 'default' } });
  expect(stored.body).toMatchObject({ correction: { basis: { device: OTHER } } });
  const mine = await issue({ permissions: ['search:read', 'data:correct'], deviceGroups: ['mine'] });
  expect((await get('', mine)).body).toMatchObject({ corrections: [{ id: 1, kind: 'fill', basis: null }] });
  expect(JSON.stringify(await get('', mine))).not.toContain(OTHER);
  expect((await get()).body).toMatchObject({ corrections: [{ basis: { device: OTHER } }] });
});

test('a token of device groups undoes nothing while the device of the correction is unknown', async () => {
  const error = new TransientError('Busy', 'the disk is full');
  let done = 0;
  const { post, issue } = await serveCorrections({
    list: async () => ({ kind: 'failed', error }),
    correct: async () => {
      done++;
      return { kind: 'failed', error };
    },
  });
  const mine = await issue({ permissions: ['data:correct'], deviceGroups: ['mine'] });
  const undo = { kind: 'undo', correction: 1, reason: 'x' };
  expect(await post(undo, { token: mine })).toMatchObject({ status: 503 });
  expect(done).toBe(0);
});

test('a token of device groups does not undo a correction of others, although it has an older one', async () => {
  let done = 0;
  const { post, issue } = await serveCorrections({
    // The newest correction of its devices.
    list: async () => ({ kind: 'answer', answer: [{ id: 1 } as ListedCorrection] }),
    correct: async () => {
      done++;
      return { kind: 'not-running' };
    },
  });
  const token = await issue({ permissions: ['data:correct'], deviceGroups: ['mine'] });
  const undo = (correction: number) => post({ kind: 'undo', correction, reason: 'x' }, { token });
  expect(await undo(2)).toMatchObject({
    status: 400,
    body: { parameter: 'correction', message: 'correction: there is no correction 2' },
  });
  expect(done).toBe(0);
  await undo(1);
  expect(done).toBe(1);
});
