import { existsSync, readFileSync } from 'node:fs';

/** Memory of a process and its children, MB. */
export interface ProcessMemory {
  resident: number;
  /** The part that the process itself has allocated, and that is not a part of a file. */
  anonymous: number;
  /** The part that belongs to files: programs, libraries and the log of the stream. */
  files: number;
  /**
   * The part of these files that is the log of the stream. The kernel takes such pages back when something
   * else needs memory.
   */
  log: number;
  /** The resident memory. A page that several processes share counts only in part. */
  proportional: number;
}

export function processMemory(processId: number): ProcessMemory {
  const sum: ProcessMemory = { resident: 0, anonymous: 0, files: 0, log: 0, proportional: 0 };
  for (const id of [processId, ...childrenOf(processId)]) {
    if (!existsSync(`/proc/${id}/smaps_rollup`)) continue;
    const status = readFileSync(`/proc/${id}/status`, 'utf8');
    sum.resident += megabytes(status, 'VmRSS');
    sum.anonymous += megabytes(status, 'RssAnon');
    sum.files += megabytes(status, 'RssFile');
    sum.log += mappedMegabytes(readFileSync(`/proc/${id}/smaps`, 'utf8'), /\/data\.mdb$/);
    sum.proportional += megabytes(readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'), 'Pss');
  }
  return sum;
}

/** The resident part of the files with paths that match. @param smaps the text of `/proc/<id>/smaps` */
function mappedMegabytes(smaps: string, path: RegExp): number {
  let kilobytes = 0;
  let isCounted = false;
  for (const line of smaps.split('\n'))
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isCounted = path.test(line);
    else if (isCounted && line.startsWith('Rss:')) kilobytes += Number(/\d+/.exec(line));
  return Math.round(kilobytes / 1_024);
}

function childrenOf(processId: number): number[] {
  const text = readFileSync(`/proc/${processId}/task/${processId}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

function megabytes(text: string, name: string): number {
  return Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1_024);
}

/** Resident memory of another process, MB. */
export function residentMegabytesOf(processId: number): number {
  return megabytes(readFileSync(`/proc/${processId}/status`, 'utf8'), 'VmRSS');
}

/** User and system time of another process. The file has hundredths of a second. */
export function cpuSeconds(processId: number): number {
  const fields = readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The load of the machine. Times on the clock depend on it. */
export function loadOfMachine(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ')[0]!;
}
