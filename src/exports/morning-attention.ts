import { formatCount } from '../lib/format-count.ts';
import { addDays, formatMinute } from '../lib/time.ts';
import { isAsleep } from '../report/device-states.ts';
import type { DeviceWeeks, MorningFacts } from './morning-facts.ts';
import { USUAL_DAYS } from './usual-energy.ts';

const ATTENTION_LINES_MAX = 10;
/**
 * Flags of a day that a person should look at. The other flags only say how a fault of the meter was
 * repaired.
 */
export const morningFlags = ['unavailable', 'incomplete', 'partial', 'gap', 'contradicted', 'substituted'];

/** The facts that a person should look at, the most important first, in at most ten lines. */
export function attentionLines(facts: MorningFacts): string[] {
  const lines = [...gapLines(facts), ...refusalLines(facts), ...deviceLines(facts)];
  if (lines.length <= ATTENTION_LINES_MAX) return lines;
  const firstLines = lines.slice(0, ATTENTION_LINES_MAX - 1);
  return [...firstLines, `and ${formatCount(lines.length - firstLines.length)} more`];
}

/** The name of a device, or its id. */
export function nameOfDevice({ workgroup }: Pick<MorningFacts, 'workgroup'>, device: string): string {
  return workgroup.devices.find(({ id }) => id === device)?.name ?? device;
}

function gapLines({ gaps }: MorningFacts): string[] {
  return gaps.map(
    ({ fromMs, toMs, reason }) =>
      `messages are missing from ${minuteOf(fromMs)} to ${minuteOf(toMs)} (${reason}); a backfill can fetch them`,
  );
}

function refusalLines({ balances }: MorningFacts): string[] {
  return balances.flatMap((balance) =>
    'refusal' in balance ? [`${balance.name} has no balance: ${balance.refusal}`] : [],
  );
}

function deviceLines(facts: MorningFacts): string[] {
  const { day, devices, states, publishedAtMs, workgroup } = facts;
  const stateOf = new Map(states.map((state) => [state.device, state]));
  const lastHeard = (device: string) => {
    const { lastSeenMs = null } = stateOf.get(device) ?? {};
    return lastSeenMs === null ? '' : `, last heard at ${minuteOf(lastSeenMs)}`;
  };
  const isSilent = (device: string) => {
    const state = stateOf.get(device);
    return state?.state === 'offline' && !isAsleep(state, publishedAtMs);
  };
  const silence = (device: string) => `${isSilent(device) ? '; it is silent' : ''}${lastHeard(device)}`;
  const known = new Set(devices.map(({ device }) => device));
  const never = workgroup.devices.filter(({ id }) => !known.has(id));
  const unknown = devices.filter((row) => (row.energies[day] ?? null) === null);
  const flagged = devices.filter((row) => !unknown.includes(row));
  return [
    ...unknown.map(
      (row) =>
        `${nameOfDevice(facts, row.device)}: energy unknown${since(row)}${flagText(row, '; ')}${silence(row.device)}`,
    ),
    ...never.map(
      ({ id }) =>
        `${nameOfDevice(facts, id)}: energy unknown since ${addDays(day, -USUAL_DAYS)} or earlier${silence(id)}`,
    ),
    ...flagged
      .filter(hasMorningFlag)
      .map(
        (row) =>
          `${nameOfDevice(facts, row.device)}${flagText(row, ': ')}${measured(row)}${isSilent(row.device) ? silence(row.device) : ''}`,
      ),
    ...flagged
      .filter((row) => !hasMorningFlag(row) && isSilent(row.device))
      .map(({ device }) => `${nameOfDevice(facts, device)} is silent${lastHeard(device)}`),
  ];
}

function since({ lastDay }: DeviceWeeks): string {
  return lastDay === null ? '' : `, last known on ${lastDay}`;
}

function hasMorningFlag({ flags }: DeviceWeeks): boolean {
  return morningFlags.some((flag) => flags.includes(flag));
}

/** @param before what separates the flags from the text before them */
function flagText({ flags }: DeviceWeeks, before: string): string {
  const present = morningFlags.filter((flag) => flags.includes(flag));
  return present.length === 0 ? '' : `${before}flagged ${present.join(', ')}`;
}

function measured({ coverage }: DeviceWeeks): string {
  return coverage === null || coverage >= 1 ? '' : `, ${Math.floor(coverage * 100)} % of the day is measured`;
}

function minuteOf(ms: number): string {
  return `${formatMinute(ms)} UTC`;
}
