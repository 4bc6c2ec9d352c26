import { readFileSync } from 'node:fs';

/** Resident memory of another process, MB. */
export function residentMegabytesOf(processId: number): number {
  const text = readFileSync(`/proc/${processId}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1_024);
}

/** User and system time of another process. The file has hundredths of a second. */
export function cpuSeconds(processId: number): number {
  const fields = readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The load of the machine, to judge times on the clock. */
export function loadOfMachine(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ')[0]!;
}
