import { expect, test } from 'vitest';
import { addSeries, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { openMeters } from './meter-support.ts';

const range = 'startDate=2026-11-18&endDate=2026-11-18';

async function openNamed() {
  const at = await openMeters({
    devices: [
      { id: deviceId(1), name: 'garage' },
      { id: deviceId(2), name: 'South roof' },
      { id: deviceId(3) },
    ],
    deviceGroups: { garage: [deviceId(1)] } as never,
    meters: [
      { code: 'M-1', name: 'House', device: deviceId(1) },
      { code: 'M-2', name: 'twin', device: deviceId(2) },
      { code: 'M-3', name: 'Twin', device: deviceId(3) },
    ],
  });
  await storeDays(
    at.shard,
    [1, 2, 3].map((device) => ({ day: '2026-11-18', device, energyWh: 10 * device })),
  );
  await at.publish();
  return at;
}

test('devices are named by ids or configured names, in any case', { tags: ['slow'] }, async () => {
  const at = await openNamed();
  const asked = [
    'garage',
    'GARAGE',
    `south%20roof,${deviceId(1)}`,
    `garage&devices=${deviceId(1).toUpperCase()}`,
  ];
  const keys = await Promise.all(
    asked.map(async (text) => Object.keys((await at.report(`${range}&devices=${text}`))['2026-11-18']!)),
  );
  expect(keys).toEqual([[deviceId(1)], [deviceId(1)], [deviceId(1), deviceId(2)].sort(), [deviceId(1)]]);
});

test('the lake has the names of devices, their ids as text, the zone, and kWh', {
  tags: ['slow'],
}, async () => {
  const at = await openNamed();
  // Its readings were imported, so the stream has told nothing of it.
  await addSeries(at.shard, 9, 4, 'roof');
  await storeDays(at.shard, [{ day: '2026-11-18', device: 4, energyWh: 40 }]);
  await at.publish();
  expect(
    await at.analyse(
      'SELECT device_id, name, energy_kwh FROM device JOIN device_daily_energy USING (device) ORDER BY device_id',
    ),
  ).toEqual([
    [deviceId(1), 'garage', 0.01],
    [deviceId(2), 'South roof', 0.02],
    [deviceId(3), null, 0.03],
    [deviceId(4), null, 0.04],
  ]);
  expect(await at.analyse('SELECT timezone FROM workgroup')).toEqual([[at.workgroup.timezone]]);
  expect(
    await at.analyse('SELECT energy_kwh, energy_wh::DOUBLE FROM daily_energy ORDER BY ALL LIMIT 1'),
  ).toEqual([[0.01, 10]]);
});

test('an unknown device is refused with the nearest name', { tags: ['slow'] }, async () => {
  const at = await openNamed();
  const message = async (path: string, token?: string) => {
    const { status, message: text } = await at.refusal(path, token);
    return `${status} ${text}`;
  };
  for (const report of [`daily-energy?${range}`, `interval-energy?${range}`, 'device-status?state=online'])
    expect(await message(`${report}&devices=garge`)).toBe(
      '400 devices: there is no device "garge"; is it garage? The devices are garage, South roof',
    );
  expect(await message(`daily-energy?${range}&devices=cellar`)).toBe(
    '400 devices: there is no device "cellar"; the devices are garage, South roof',
  );
  // An id that is not configured and not published.
  const unknown = deviceId(9);
  for (const report of ['daily-energy', 'daily-energy/details', 'quality', 'interval-energy'])
    expect(await message(`${report}?${range}&devices=garage,${unknown}`)).toBe(
      `400 devices: there is no device "${unknown}"; is it ${deviceId(1)}? The devices are garage, South roof`,
    );
  for (const report of ['daily-energy/changes?since=2026-11-01', 'device-status?state=online'])
    expect(await message(`${report}&devices=${unknown}`)).toBe(
      `400 devices: there is no device "${unknown}"; is it ${deviceId(1)}? The devices are garage, South roof`,
    );
  expect(await message(`balance?${range}&device=${unknown}`)).toBe(
    `404 device: there is no device "${unknown}" here; is it ${deviceId(1)}? The devices are garage, South roof`,
  );
  expect(await message('daily-energy/explain?device=garge&day=2026-11-18')).toBe(
    '400 device: there is no device "garge"; is it garage? The devices are garage, South roof',
  );
  // A token of device groups does not learn of the other names.
  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['garage'] });
  expect(await message(`daily-energy?${range}&devices=South%20roof`, token)).toBe(
    '400 devices: there is no device "South roof"; the devices are garage',
  );
  // The answer for a device that it cannot see is the same as for an unknown device.
  for (const report of [
    `daily-energy?${range}&devices=`,
    'device-status?devices=',
    `balance?${range}&device=`,
    'daily-energy/explain?day=2026-11-18&device=',
  ]) {
    const [hidden, absent] = await Promise.all(
      [deviceId(2), unknown].map(async (id) => (await message(report + id, token)).replaceAll(id, 'ID')),
    );
    expect(hidden).toMatch(
      /^40[04] devices?: (?:there is no|the) device "ID".*; is it .+\? The devices are garage$/,
    );
    expect(absent).toBe(hidden);
  }
});

test('a device need not be configured if it is published, and nobody knows devices before the first publication', async () => {
  const at = await openMeters({});
  const asked = `${range}&devices=${deviceId(1)}`;
  expect(await at.report(asked)).toEqual({ '2026-11-18': {} });
  await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh: 10 }]);
  await at.publish();
  expect(await at.report(asked)).toEqual({ '2026-11-18': { [deviceId(1)]: 10 } });
  const typo = `${deviceId(1).slice(0, -1)}7`;
  expect(await at.refusal(`daily-energy?${range}&devices=${typo}`)).toMatchObject({
    status: 400,
    message: expect.stringContaining(`there is no device "${typo}"; is it ${deviceId(1)}? The devices are`),
  });
});

test('meters are named by codes, or by names that one meter has', { tags: ['slow'] }, async () => {
  const at = await openNamed();
  expect(await at.ask(`meter-data?${range}&meterCodes=house,M-2`)).toEqual({
    '2026-11-18': { 'M-1': 10, 'M-2': 20 },
  });
  const message = async (text: string) =>
    (await at.refusal(`meter-data?${range}&meterCodes=${text}`)).message;
  expect(await message('twin')).toBe(
    'meterCodes: several meters have the name "twin"; the codes are M-2, M-3',
  );
  expect(await message('M1')).toBe(
    'meterCodes: no meter has the code "M1"; is it M-1? The meters are M-1, M-2, M-3',
  );
  expect(await message('cellar')).toBe(
    'meterCodes: no meter has the code "cellar"; the meters are M-1, M-2, M-3',
  );
  expect((await at.get(`/api/v1/orgs/${WORKGROUP}/budget-data?${range}&meterCodes=house`)).status).toBe(200);
});
