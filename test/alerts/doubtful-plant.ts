import type { ConfigInput } from '../../src/config/config.ts';
import { addDays, dayStart, HOUR_MS, localDateOf } from '../../src/lib/time.ts';
import type { ServiceProcess } from '../support/up-process.ts';
import { noonZone } from './idle-plant.ts';

const deviceId = (index: number) => `7c9e6679-7425-40de-944b-e07fc1f90a${String(index).padStart(2, '0')}`;
const [idle, thin, contradicted, substituted, rebased] = [1, 2, 3, 4, 5] as const;

/** A reading: the device, the hour of yesterday, and the fields. */
type Reading = readonly [device: number, hour: number, data: { total_wh?: number; power_w?: number }];

const hours = Array.from({ length: 25 }, (_, hour) => hour);
const within = hours.slice(0, -1).flatMap((hour) => [hour + 0.001, hour + 0.999]);

/**
 * Yesterday: one device stands still, one is silent in the afternoon, and the registers of three are in
 * doubt.
 */
export const firstReadings: readonly Reading[] = [
  ...hours.map((hour): Reading => [idle, hour, { total_wh: 1_000 }]),
  ...hours.slice(0, 13).map((hour): Reading => [thin, hour, { total_wh: 1_000 + 100 * hour }]),
  ...hours.map((hour): Reading => [contradicted, hour, { total_wh: 1_000 + 100 * hour, power_w: 1_000 }]),
  ...hours.map((hour): Reading => [substituted, hour, { total_wh: 1_000 + 2_500 * hour, power_w: 1_000 }]),
  ...hours.map((hour): Reading => [rebased, hour, { total_wh: 1_000 + 100 * hour + (hour > 12 ? 9e6 : 0) }]),
  ...[6, 7, 8].flatMap((device) =>
    hours.map((hour): Reading => [device, hour, { total_wh: 1_000 + 100 * hour }]),
  ),
];

/** The missing readings come late, and end every doubt that can end. */
export const laterReadings: readonly Reading[] = [
  [idle, 23.5, { total_wh: 2_000 }],
  [idle, 24.5, { total_wh: 2_000 }],
  ...hours.slice(13).map((hour): Reading => [thin, hour, { total_wh: 1_000 + 100 * hour }]),
  ...within.map((hour): Reading => [contradicted, hour, { power_w: 98 }]),
  ...within.map((hour): Reading => [substituted, hour, { power_w: 2_500 }]),
];

/**
 * The workgroup `home` with doubtful data, and `far`, which reads an upstream, with alerts at short limits.
 */
export function doubtfulPlant(places: {
  dataDir: string;
  alertsUrl: string;
  destinationUrl: string;
  upstreamUrl: string;
  brokerPort: number;
  folder: string;
}): ConfigInput {
  const timezone = noonZone();
  const yesterday = {
    workgroup: 'home',
    report: 'daily_energy' as const,
    range: 'yesterday' as const,
    format: 'csv' as const,
  };
  return {
    dataDir: places.dataDir,
    stream: { retention: '1h' },
    pipeline: { pollEvery: '200ms', rollupEvery: '200ms', publishEvery: '200ms', closeAfter: 0 },
    workgroups: [
      {
        id: 'home',
        timezone,
        energyStreams: [
          { table: 'roof', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
          {
            table: 'roof',
            field: 'power_w',
            method: 'power_curve',
            unit: 'W',
            maxPower: '10 kW',
            maxGap: '1h',
          },
        ],
        meters: [{ code: 'THIN', device: deviceId(thin) }],
        sites: [{ name: 'all', meters: [{ code: 'THIN' }] }],
        inputs: {
          mqtt: [
            {
              id: 'house',
              url: `mqtt://127.0.0.1:${places.brokerPort}`,
              rules: [
                { topic: 'house/power', table: 'house', device: 'house', fields: { power_w: 'payload' } },
              ],
            },
          ],
        },
      },
      { id: 'far', timezone, upstream: { url: places.upstreamUrl, token: 'a-token' } },
    ],
    exports: [
      {
        id: 'refused',
        ...yesterday,
        schedule: '* * * * *',
        destination: { webhook: { url: places.destinationUrl } },
      },
      { id: 'kept', ...yesterday, destination: { folder: places.folder } },
    ],
    alerts: {
      checkEvery: '1s',
      channels: [{ id: 'ops', webhook: { url: places.alertsUrl } }],
      conditions: {
        stageLate: { limit: '10s' },
        behind: { limit: '10s', for: 0 },
        dataLossAhead: { limit: 0.005 },
        quarantine: { limit: 0.5 },
        exportUndelivered: { limit: '1s' },
        disk: { limit: 1, for: 0 },
        inputDisconnected: { limit: '2s' },
      },
    },
  };
}

export async function sendReadings(
  { url, token, config }: Pick<ServiceProcess, 'url' | 'token' | 'config'>,
  readings: readonly Reading[],
): Promise<void> {
  const { timezone } = config.workgroups[0]!;
  const yesterdayMs = dayStart(addDays(localDateOf(Date.now(), timezone), -1), timezone);
  const answer = await fetch(`${url}/api/v1/tables/home/roof/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(
      readings.map(([device, hour, data]) => ({
        device: deviceId(device),
        event_time: Math.round(yesterdayMs + hour * HOUR_MS),
        data,
      })),
    ),
  });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}: ${await answer.text()}`);
}
