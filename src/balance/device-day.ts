import { chapter, table } from './statement.ts';

/** Where the tables come from that the energy of devices is told from (see sql/balance/10_device_source and 11_device_day). */
export interface DeviceDayInputs {
  known_source: string;
  declared_device: string;
  role_span: string;
  source_day: string;
}

/** The energy of devices by day as table "device_day", for the statement that follows. @returns text that begins with WITH */
export function deviceDaySql(inputs: DeviceDayInputs): string {
  const tables = [
    table('role', chapter('01_role')),
    ...Object.entries(inputs).map(([name, sql]) => table(name, sql)),
    table('device_source', chapter('10_device_source')),
    table('device_day', chapter('11_device_day')),
  ];
  return `WITH ${tables.join(',\n')}\n`;
}
