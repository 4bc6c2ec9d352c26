import type { ConfigInput } from '../../src/config/config.ts';
import { addDays, dayStart, HOUR_MS, localDateOf } from '../../src/lib/time.ts';
import type { ServiceProcess } from '../support/up-process.ts';

const devices = ['1', '2', '3'].map((end) => `7c9e6679-7425-40de-944b-e07fc1f90ae${end}`);
/** The device that has no energy. */
export const GARAGE = devices[0]!;

/** A reading: the index of the device, the hour of yesterday, and the register in Wh. */
type IdleReading = readonly [device: number, hour: number, totalWh: number];

const hours = Array.from({ length: 25 }, (_, hour) => hour);
/** Yesterday the first device stands still, and the others produce. */
export const idleReadings: readonly IdleReading[] = [
  ...hours.map((hour) => [0, hour, 1_000] as const),
  ...[1, 2].flatMap((device) => hours.map((hour) => [device, hour, 1_000 + 100 * hour] as const)),
];

/** A zone where it is about noon, so that no day changes while a test runs. */
export function noonZone(): string {
  const aheadHours = 12 - new Date().getUTCHours();
  return aheadHours === 0 ? 'Etc/UTC' : `Etc/GMT${aheadHours > 0 ? '-' : '+'}${Math.abs(aheadHours)}`;
}

/**
 * The workgroup `home` with alerts to a webhook. Only alerts about energy are on, because a busy machine can
 * cause others.
 */
export function alertingInput(dataDir: string, url: string): ConfigInput {
  return {
    dataDir,
    workgroups: [
      {
        id: 'home',
        timezone: noonZone(),
        devices: [{ id: GARAGE, name: 'garage' }],
        energyStreams: [{ table: 'grid', field: 'total_wh', method: 'total_energy', unit: 'Wh' }],
      },
    ],
    alerts: {
      checkEvery: '1s',
      channels: [{ id: 'ops', webhook: { url } }],
      conditions: { deviceSilent: 'off', disk: 'off', stageLate: 'off', behind: 'off' },
    },
  };
}

export function sendIdle(
  { url, token, config }: Pick<ServiceProcess, 'url' | 'token' | 'config'>,
  readings: readonly IdleReading[],
): Promise<Response> {
  const { timezone } = config.workgroups[0]!;
  const yesterdayMs = dayStart(addDays(localDateOf(Date.now(), timezone), -1), timezone);
  return fetch(`${url}/api/v1/tables/home/grid/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(
      readings.map(([device, hour, total_wh]) => ({
        device: devices[device],
        event_time: yesterdayMs + hour * HOUR_MS,
        data: { total_wh },
      })),
    ),
  });
}
