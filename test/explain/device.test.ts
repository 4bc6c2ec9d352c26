// @module-tag slow
import { expect, test } from 'vitest';
import { describeExplained } from '../../src/cli/explain/explain-view.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { explainDay } from '../../src/explain/explain-day.ts';
import { type ExplainedDevice, explainedSchema } from '../../src/explain/explained-schema.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { type CaseReading, DEVICE, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';

const DAY = '2026-06-01';
const streams = [
  { table: 't', field: 'wh', method: 'interval_energy', interval: '1d', maxPower: '1 GW' },
  { table: 't', field: 'net', method: 'total_energy', register: 'net' },
] as const;

/** Energy of the day by source. */
function days(energies: Record<string, number>): CaseReading[] {
  return Object.entries(energies).map(([source, wh]) => ({
    event_time: `${DAY}T00:00:00Z`,
    source,
    data: { wh },
  }));
}

async function tell(
  readings: readonly CaseReading[],
  settings: { devices?: object[]; roles?: object[] },
  nowMs = Date.UTC(2030, 0, 1),
) {
  const workgroup = workgroupSchema.parse({
    id: 'home',
    ...settings,
    devices: (settings.devices ?? []).map((one) => ({ id: DEVICE, name: 'house', ...one })),
  });
  const shard = await openTestShard();
  await landReadings(shard, readings);
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [...streams], devices: workgroup.devices });
  const connection = await shard.connect();
  try {
    const args = { device: DEVICE, day: DAY };
    const explained = explainedSchema
      .strict()
      .parse(
        JSON.parse(
          JSON.stringify(await explainDay(connection, args, { workgroup, nowMs, closeAfterMs: 2 * DAY_MS })),
        ),
      );
    return {
      explained,
      wholeDevice: explained.wholeDevice!,
      page: describeExplained(explained, { all: false }),
    };
  } finally {
    connection.closeSync();
  }
}

/** Each source with whether it counts, its Wh and the reason. */
function reasons({ sources }: ExplainedDevice) {
  return Object.fromEntries(
    sources.map(({ source, counts, energyWh, reason }) => [source, [counts, energyWh, reason]]),
  );
}

const production = { source: 'solar', role: 'production' };
const consumption = { source: 'load', role: 'consumption' };

// report/device-roles.test.ts has several roles of a device.
test.runIf(isSoak)(
  'the first of several roles is the energy of the device, and the others have a reason why they do not count',
  async () => {
    const roles = [
      production,
      consumption,
      { device: 'house', source: 'string', role: 'production', within: 'house.solar' },
      { source: 'late', role: 'production', from: '2026-07-01' },
    ];
    const { explained, wholeDevice, page } = await tell(
      days({ solar: 24_000, load: 10_000, string: 9_000, odd: 7, late: 5 }),
      {
        devices: [{}],
        roles,
      },
    );
    expect([explained.energyWh, explained.countingSources, explained.text]).toEqual([
      24_000,
      ['solar'],
      '24,000 Wh',
    ]);
    expect(wholeDevice).toMatchObject({ rule: 'several_roles', role: 'production', energyWh: 24_000 });
    expect(wholeDevice.text).toBe(
      'the device has several roles and is read from production, the first of them; consumption is not added',
    );
    expect(reasons(wholeDevice)).toEqual({
      solar: [true, 24_000, 'has the role production'],
      load: [false, 10_000, 'its role is consumption, not production'],
      string: [false, 9_000, 'solar measures it too'],
      odd: [false, 7, 'no role is declared for it on this day'],
      late: [false, 5, 'no role is declared for it on this day'],
    });
    expect(wholeDevice.flags).toEqual([
      { flag: 'mixed', reason: 'its sources have the roles production and consumption' },
      { flag: 'undeclared', reason: 'no role is declared for late and odd on this day' },
    ]);
    expect(page).toContain('undeclared: no role is declared for late and odd on this day');
    expect(page).toMatch(/\n {2}\* +solar +production +24,000 +has the role production\n/);
  },
);

test('the energy of a device follows from its energyRole, and is incomplete if one of its sources has no readings', async () => {
  const { explained, wholeDevice, page } = await tell(days({ solar: 24_000, load: 10_000 }), {
    devices: [{ energyRole: 'grid_export' }],
    roles: [production, consumption, { device: 'house', source: 'feed', role: 'grid_export' }],
  });
  expect([explained.energyWh, explained.countingSources]).toEqual([null, ['feed']]);
  expect(wholeDevice).toMatchObject({ rule: 'energy_role', role: 'grid_export', energyWh: null });
  expect(reasons(wholeDevice).feed).toEqual([
    true,
    null,
    'has the role grid_export; it has no energy on this day',
  ]);
  expect(wholeDevice.flags).toEqual([{ flag: 'incomplete', reason: 'feed has no energy on this day' }]);
  expect(page).toContain(
    'incomplete: the device is the sum of its sources with the role grid_export, which is its energyRole, and of that there is no energy on this day',
  );
});

test('a total source counts alone, undeclared sources are left out, and sources of one role are added up', async () => {
  const total = await tell(days({ all: 60, solar: 1_000 }), {
    devices: [{ totalSource: 'all' }],
    roles: [production],
  });
  expect(total.wholeDevice).toMatchObject({ rule: 'total_source', role: null, energyWh: 60, flags: [] });
  expect(reasons(total.wholeDevice)).toEqual({
    all: [true, 60, 'the total source'],
    solar: [false, 1_000, 'the total source all stands for the device'],
  });

  const roof = { source: 'roof', role: 'production' };
  const listed = await tell(days({ solar: 300, roof: 200, old: 50 }), {
    devices: [{ sources: ['solar', 'roof'] }],
    roles: [production, roof, { source: 'old', role: 'production' }],
  });
  expect(listed.wholeDevice).toMatchObject({
    rule: 'one_role',
    role: 'production',
    energyWh: 500,
    flags: [],
  });
  expect(reasons(listed.wholeDevice).old).toEqual([
    false,
    50,
    'the setting sources of the device does not name it',
  ]);
  expect(listed.page).toContain('200 (roof) + 300 (solar) = 500 Wh');
});

test('a source with a role on other days lacks one on this day only if it has energy on it', async () => {
  const settings = {
    devices: [{}],
    roles: ['silent', 'late'].map((source) => ({
      device: 'house',
      source,
      role: 'production',
      from: '2026-07-01',
    })),
  };
  const { wholeDevice } = await tell(days({ odd: 7, late: 5 }), settings);
  expect(wholeDevice.flags).toEqual([
    { flag: 'undeclared', reason: 'no role is declared for late and odd on this day' },
  ]);
});

// The test above adds sources up, and rollup/golden.test.ts has device days of several sources.
test.runIf(isSoak)(
  'without roles all sources are added, and the day is flagged if there are several',
  async () => {
    const several = await tell(days({ a: 10, b: 5 }), {});
    expect(several.wholeDevice).toMatchObject({ rule: 'no_role', role: null, energyWh: 15 });
    expect(several.wholeDevice.flags).toEqual([
      { flag: 'undeclared', reason: 'no role is declared for a and b on this day' },
    ]);
    const one = await tell(days({ a: 10 }), {});
    expect(one.wholeDevice).toMatchObject({ rule: 'no_role', energyWh: 10, flags: [] });
  },
);

test('of a net register the device counts the rises, or the falls', async () => {
  const values = [0, 500, 400, 900, 300];
  const net = Array.from({ length: 97 }, (_, index): CaseReading => {
    const value =
      values[Math.floor(index / 24)]! +
      ((values[Math.floor(index / 24) + 1] ?? 300) - values[Math.floor(index / 24)]!) * ((index % 24) / 24);
    const time = Date.parse(`${DAY}T00:00:00Z`) + index * 900_000;
    return { event_time: new Date(time).toISOString(), source: 'grid', data: { net: value } };
  });
  // Its last day is this one.
  const roles = [{ source: 'grid', role: 'grid_import', negativeRole: 'grid_export', to: DAY }];
  const risen = await tell(net, { devices: [{ energyRole: 'grid_import' }], roles });
  const fallen = await tell(net, { devices: [{ energyRole: 'grid_export' }], roles });
  expect([risen.explained.energyWh, fallen.explained.energyWh]).toEqual([1_000, 700]);
  expect(reasons(risen.wholeDevice)).toEqual({ grid: [true, 1_000, 'counts as grid_import where it rises'] });
  expect(reasons(fallen.wholeDevice)).toEqual({ grid: [true, 700, 'counts as grid_export where it falls'] });
});

test('a day that is not over is explained, and a day that has not begun is not', async () => {
  const startMs = Date.parse(`${DAY}T00:00:00Z`);
  const outcomeAt = async (nowMs: number) => {
    const { explained, page } = await tell(days({ a: 100 }), {}, nowMs);
    // The only source of a device is the device.
    expect(page).not.toContain('\nDevice\n');
    return { outcome: explained.outcome, text: explained.text };
  };
  expect(await outcomeAt(startMs + 1)).toEqual({
    outcome: 'explained',
    text: '100 Wh, and the day is not over',
  });
  expect(await outcomeAt(startMs - 1)).toEqual({
    outcome: 'future',
    text: `${DAY} has not begun in Etc/UTC`,
  });
});
