import type { ConfigInput } from '../../src/config/config.ts';
import { readStatus } from '../../src/pipeline/workgroup-status.ts';
import type { Machine } from '../support/machines.ts';

export const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
export const DAY = '2026-05-17';
export const machineConfig: ConfigInput = {
  logLevel: 'silent',
  workgroups: [
    {
      id: 'home',
      devices: [{ id: DEVICE, name: 'garage' }],
      meters: [{ code: 'PV', direction: 'production' }],
      energyStreams: [
        { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' },
      ],
    },
  ],
};
export const readings = [0, 12, 24].map((hours) => ({
  device: DEVICE,
  event_time: Date.parse(`${DAY}T00:00:00Z`) + hours * 3_600_000,
  data: { total_wh: 1_000 + hours * 100 },
}));

/** Sends the readings of the day. */
export function sendDay({ url, token }: Machine): Promise<Response> {
  return fetch(`${url}/api/v1/tables/home/solar/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(readings),
  });
}

/** What the worker of a machine has written of the workgroup. */
export function statusOn({ config }: Machine) {
  return readStatus(config.dataDir, 'home');
}

export function hasCommitted(machine: Machine): boolean {
  return (
    (statusOn(machine)?.bucket?.lastCommitAtMs ?? 0) > 0 &&
    statusOn(machine)?.publish.generation !== undefined
  );
}
