import { offsetOf } from '../../src/contract/offset.ts';
import { dayBounds, HOUR_MS, INTERVAL_MS } from '../../src/lib/time.ts';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { budget, budgets, intervals, type MeterFixture, openMeters, readings } from './meter-support.ts';

export const timezone = 'Europe/Paris';
/** The clock is set back on the 26th, which has 25 hours. */
export const days = ['2025-10-24', '2025-10-25', '2025-10-26', '2025-10-27', '2025-10-28'] as const;
export const range = `startDate=${days[0]}&endDate=${days.at(-1)}`;
export const sources = ['import', 'roof'] as const;

const streams = [
  { table: 't', field: 'wh', method: 'total_energy', unit: 'Wh', maxPower: '50 kW' },
  {
    table: 't',
    field: 'w',
    method: 'power_curve',
    unit: 'W',
    sampling: 'interval_average',
    label: 'start',
    interval: '15m',
  },
] as const;

/** Of device 3 only the roof counts. */
const devices = [
  { id: deviceId(1) },
  { id: deviceId(2) },
  { id: deviceId(3), sources: ['roof'] },
] satisfies Array<{ id: string; sources?: string[] }>;

interface Slot {
  device: number;
  source: (typeof sources)[number];
  /** Index of the local day. */
  day: number;
  /** Index of the 15 minutes in it. */
  slot: number;
}

/** The register grows by so many Wh in the 15 minutes. Every device, source and day has its own shape. */
function grownWh({ device, source, day, slot }: Slot): number {
  const [base, peakSlot] =
    source === 'roof' ? [40 * device, 30 + 10 * device] : [15 * device, 70 - 5 * device];
  return base + 10 * day + Math.max(0, 60 - 3 * Math.abs(slot - peakSlot));
}

/**
 * Energy that nobody measured: device, source, day, the first slot of the day, and the slot after the last
 * one.
 */
const gaps: ReadonlyArray<[device: number, source: string, day: number, from: number, to: number]> = [
  // Both sources of a device at once, then one alone.
  [1, 'roof', 1, 40, 56],
  [1, 'import', 1, 44, 60],
  [2, 'roof', 0, 20, 36],
  // Whole days: one read from power, one from a register, and the last but its first reading.
  [2, 'roof', 1, 0, 100],
  [3, 'import', 2, 0, 100],
  [2, 'import', 4, 1, 100],
];
/** The register of the roof of device 3 is replaced: it starts again from 0 there. */
const RESTART = { day: 3, slot: 50 };
/**
 * The register of the roof of device 2 is not read before this day, so that earlier days are read from power.
 */
const REGISTER_FROM_DAY = 2;

function isMeasured({ device, source, day, slot }: Slot): boolean {
  return !gaps.some(
    (gap) => gap[0] === device && gap[1] === source && gap[2] === day && slot >= gap[3] && slot < gap[4],
  );
}

/** Every 15 minutes the register as it is then, and a mean power that is a quarter more than it grows by. */
function plantReadings() {
  const bounds = dayBounds(days[0], days.at(-1)!, timezone);
  return [1, 2, 3].flatMap((device) =>
    sources.flatMap((source) => {
      let register = 1_000_000 * device;
      return bounds.flatMap(({ startMs, endMs }, day) =>
        Array.from({ length: (endMs - startMs) / INTERVAL_MS }, (_, slot) => {
          const at = { device, source, day, slot };
          if (device === 3 && source === 'roof' && day === RESTART.day && slot === RESTART.slot) register = 0;
          const value = register;
          register += grownWh(at);
          if (!isMeasured(at)) return [];
          const hasRegister = device !== 2 || source !== 'roof' || day >= REGISTER_FROM_DAY;
          const data = { w: 5 * grownWh(at), ...(hasRegister && { wh: value }) };
          return [{ device: deviceId(device), source, event_time: iso(startMs + slot * INTERVAL_MS), data }];
        }).flat(),
      );
    }),
  );
}

const iso = (ms: number) => new Date(ms).toISOString();

export interface PlantFixture extends MeterFixture {
  /** Takes in what has landed, and publishes it. */
  work(nowMs: number): Promise<void>;
}

/**
 * A plant of three devices with two sources each, that both have a register and power, over five days with
 * gaps: rolled up and published, with meters, budgets and a site. One register is read again later, which
 * restates two days. With `hasViews`, the first and the last generation have the views for people.
 */
export async function openPlant({ hasViews = false } = {}): Promise<PlantFixture> {
  const at = await openMeters({
    timezone,
    devices: devices.map((device) => ({ ...device })),
    meters: [
      { code: 'GRID-1' },
      { code: 'GRID-2' },
      { code: 'PLANT-1', device: deviceId(1) },
      { code: 'ROOF-2', device: deviceId(2), source: 'roof' },
      { code: 'PLANT-3', device: deviceId(3) },
    ],
    sites: [
      {
        name: 'plant',
        meters: [{ code: 'GRID-1' }, { code: 'GRID-2', sign: -1, from: days[2] }],
        devices: [
          { id: deviceId(1) },
          { id: deviceId(2), source: 'roof' },
          { id: deviceId(2), source: 'import', sign: -1 },
        ],
      },
      { name: 'budgeted', meters: [{ code: 'PLANT-1' }] },
      { name: 'rooftop', meters: [{ code: 'ROOF-2' }] },
    ],
  });
  const work = async (nowMs: number) => {
    at.clock.set(nowMs);
    await at.shard.transaction((connection) => noteDeviceStatus(connection, nowMs));
    await rollUpSite(at.shard, { timezone, streams, devices, closeAfterMs: 0 }, nowMs);
    await at.publish();
    if (hasViews) await at.renew();
  };
  const lastDay = dayBounds(days.at(-1)!, days.at(-1)!, timezone)[0]!;
  await landReadings(at.shard, plantReadings());
  await work(lastDay.endMs + HOUR_MS);

  // The register of a roof at a midnight was 25 Wh less: the day before loses them, the day after has them.
  const midnightMs = dayBounds(days[3], days[3], timezone)[0]!.startMs;
  const roof = plantReadings().find(
    ({ device, source, event_time }) =>
      device === deviceId(1) && source === 'roof' && event_time === iso(midnightMs),
  )!;
  await landReadings(at.shard, [{ ...roof, msg_id: 1, data: { ...roof.data, wh: roof.data.wh! - 25 } }]);
  // Two texts that are no numbers came three hours late.
  const broken = [1, 2].map((minute) => ({
    device: deviceId(1),
    source: 'roof',
    event_time: iso(midnightMs + minute * 60_000),
    store_time: iso(midnightMs + minute * 60_000 + 3 * HOUR_MS),
    data: { wh: 'broken' },
  }));
  await landReadings(at.shard, broken);
  await landStates(at, lastDay.endMs + 2 * HOUR_MS);
  await at.put(
    budgets(
      budget('PLANT-1', '2025-10', 310_000, 'P50'),
      budget('PLANT-1', '2025-10', 248_000, 'P90'),
      budget('ROOF-2', '2025-10', 310_000, 'contract'),
      budget('PLANT-3', '2025', 3_650_000, 'P50'),
    ),
  );
  const hours = dayBounds(days[0], days.at(-1)!, timezone).reduce(
    (sum, { startMs, endMs }) => sum + (endMs - startMs) / HOUR_MS,
    0,
  );
  const firstMs = dayBounds(days[0], days[0], timezone)[0]!.startMs;
  await at.put(
    intervals(
      ...readings(
        'GRID-1',
        iso(firstMs),
        1,
        Array.from({ length: hours }, (_, hour) => 900 + hour),
      ),
      ...readings('GRID-2', iso(firstMs), 1, Array<number>(hours).fill(7)),
    ),
  );
  await work(lastDay.endMs + 3 * HOUR_MS);
  return { ...at, work };
}

/** Devices 1 and 2 go offline, and 2 comes back. */
async function landStates({ shard }: MeterFixture, atMs: number): Promise<void> {
  const states = [
    [1, 'offline', 0],
    [2, 'offline', 600_000],
    [2, 'online', 1_200_000],
  ] as const;
  const messages = states.map(([device, state, afterMs]) => ({
    offset: offsetOf(atMs + afterMs),
    table: 'devices',
    kind: 'device_status',
    device: deviceId(device),
    source: null,
    event_time: atMs + afterMs,
    store_time: atMs + afterMs,
    state,
    reason: 'timeout',
  }));
  const landed = await shard.land({
    origin: 'states',
    columns: messagesToColumns(messages, shard.names),
    fromOffset: undefined,
    nextOffset: messages.at(-1)!.offset + 1n,
    logEpoch: 'test',
  });
  if (landed.kind !== 'landed') throw new Error(`expected to land: ${landed.kind}`);
}
