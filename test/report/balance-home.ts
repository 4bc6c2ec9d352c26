import { deviceId } from '../support/messages.ts';
import type { SourceEnergy } from './balance-support.ts';

export const [inverter, meter, heat] = [deviceId(1), deviceId(2), deviceId(3)];

export const home = {
  timezone: 'Europe/Berlin',
  devices: [
    { id: inverter, name: 'roof', peakPower: [{ kWp: 4 }] },
    { id: meter, name: 'meter' },
  ],
  roles: [
    { source: 'pv', role: 'production' },
    { device: 'meter', source: 'import', role: 'grid_import' },
    { device: 'meter', source: 'export', role: 'grid_export' },
  ],
};
/** 10:00Z and 14:00Z of 20 May; 22:00Z is the first quarter of an hour of 21 May in Berlin. */
export const energies: SourceEnergy[] = [
  { device: inverter, source: 'pv', wh: { '2026-05-20T10:00:00Z': 800, '2026-05-20T14:00:00Z': 900 } },
  { device: meter, source: 'import', wh: { '2026-05-20T10:00:00Z': 50, '2026-05-20T22:00:00Z': 70 } },
  { device: meter, source: 'export', wh: { '2026-05-20T10:00:00Z': 200, '2026-05-20T14:00:00Z': 550 } },
];
export const days = { from: '2026-05-20', to: '2026-05-21' };
export const range = 'startDate=2026-05-20&endDate=2026-05-21';
