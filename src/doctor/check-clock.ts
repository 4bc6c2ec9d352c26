import { errorMessage } from '../lib/errors.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { type Check, type Fact, ok, problem, warning } from './run-checks.ts';

/** A server that sends its time in the header `Date`. */
export interface TimeServer {
  name: string;
  url: string;
}

/** The header has whole seconds, and the answer takes time. */
const DIFFERENCE_MS_WARN = 5 * SECOND_MS;
/** Buckets refuse requests and tokens expire early with such a clock. */
const DIFFERENCE_MS_MAX = 5 * MINUTE_MS;
const ZONE_DATA_YEARS_WARN = 3;
/** Shorter than the time of a check, so that one silent server does not hide the others. */
const SILENT_SERVER_MS = 6 * SECOND_MS;

/** The clock of this machine against the clocks of others, and the data of time zones. */
export function checkClock(
  servers: readonly TimeServer[],
  clock: Clock,
  zoneData: string | undefined,
): Check {
  return {
    name: 'clock',
    async run(signal) {
      const compared = await Promise.all(servers.map((server) => compare(server, clock, signal)));
      return [zoneFact(zoneData, clock.now()), ...compared];
    },
  };
}

async function compare({ name, url }: TimeServer, clock: Clock, signal: AbortSignal): Promise<Fact> {
  const sentAtMs = clock.now();
  let date: string | null;
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(SILENT_SERVER_MS)]);
    const answer = await fetch(url, { redirect: 'manual', signal: within });
    await answer.body?.cancel();
    date = answer.headers.get('date');
  } catch (error) {
    if (signal.aborted) throw error;
    return ok(`${name} cannot be asked for the time now (${causeOf(error)})`);
  }
  const theirMs = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(theirMs)) return ok(`${name} does not say what time it is`);
  return clockFact(name, (sentAtMs + clock.now()) / 2 - theirMs);
}

/** @param aheadMs how far this machine is ahead of the other one; negative if it is behind */
export function clockFact(name: string, aheadMs: number): Fact {
  const seconds = Math.round(Math.abs(aheadMs) / SECOND_MS);
  const finding = `the clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${name}`;
  const next = 'let both machines set their clocks by NTP (timedatectl, chronyc tracking)';
  if (Math.abs(aheadMs) > DIFFERENCE_MS_MAX) return problem(finding, next);
  if (Math.abs(aheadMs) > DIFFERENCE_MS_WARN) return warning(finding, next);
  return ok(`the clock agrees with that of ${name}`);
}

/** @param version as `process.versions.tz` has it, such as `2026a` */
export function zoneFact(version: string | undefined, nowMs: number): Fact {
  const year = Number(version?.slice(0, 4));
  if (version === undefined || Number.isNaN(year))
    return warning('this Node does not say which time zone data it has', 'use a Node with full ICU data');
  const age = new Date(nowMs).getUTCFullYear() - year;
  if (age >= ZONE_DATA_YEARS_WARN)
    return warning(
      `the time zone data are of ${version}`,
      'update Node, so that newer changes of time zones are known',
    );
  return ok(`the time zone data are of ${version}`);
}

/** The errors of `fetch` have the reason in their cause. */
function causeOf(error: unknown): string {
  return errorMessage(error instanceof Error && error.cause instanceof Error ? error.cause : error);
}
