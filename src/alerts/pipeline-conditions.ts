import { LOSSES_MAX } from '../inputs/input-problem.ts';
import { formatInstant, MINUTE_MS } from '../lib/time.ts';
import { formatDuration } from '../lib/units.ts';
import type { AlertCondition, AlertFinding } from './alert-condition-type.ts';
import type { AlertFacts } from './alert-facts.ts';
import { inPercent } from './in-percent.ts';

export const stageLate: AlertCondition<'stageLate'> = {
  title: 'Stage without success',
  isUrgent: true,
  find: ({ stages }, { limit }) =>
    stages?.flatMap(({ stage, failingMs, why, isAtWork, hasSucceeded }) => {
      if (failingMs < limit && hasSucceeded) return [];
      const isUnclear = failingMs < limit || isAtWork;
      return [{ subject: stage, text: `${stage}: ${why}`, ...(isUnclear && { isUnclear: true as const }) }];
    }),
};

export const behind: AlertCondition<'behind'> = {
  title: 'Behind the stream',
  find: (facts, { limit }) =>
    lagFindings(facts, limit, `the work is more than ${formatDuration(limit)} behind the stream`),
};

export const dataLossAhead: AlertCondition<'dataLossAhead'> = {
  title: 'Data loss ahead',
  isUrgent: true,
  find(facts, { limit }) {
    const { retentionMs } = facts;
    const left = formatDuration(Math.max(0, Math.round(((1 - limit) * retentionMs) / MINUTE_MS) * MINUTE_MS));
    const text = `messages are not read, and the stream keeps them for ${formatDuration(retentionMs)}: they are lost in less than ${left}`;
    return lagFindings(facts, limit * retentionMs, text);
  },
};

function lagFindings(
  { lagMs, mayLagMore }: AlertFacts,
  limitMs: number,
  text: string,
): AlertFinding[] | undefined {
  if (lagMs === undefined) return undefined;
  if (lagMs >= limitMs) return [{ subject: 'stream', text }];
  return mayLagMore ? [{ subject: 'stream', text, isUnclear: true }] : [];
}

export const gap: AlertCondition<'gap'> = {
  title: 'Gap in the stream',
  isUrgent: true,
  isNews: true,
  find: ({ gaps }) =>
    gaps?.map(({ gapId, reason, fromMs, toMs }) => {
      const when =
        fromMs === null || toMs === null ? '' : ` from ${formatInstant(fromMs)} to ${formatInstant(toMs)}`;
      return { subject: String(gapId), text: `a part of the stream${when} could not be read (${reason})` };
    }),
};

export const quarantine: AlertCondition<'quarantine'> = {
  title: 'Messages not used',
  find({ lastHour }, { limit }) {
    if (lastHour === undefined) return undefined;
    const { messages, quarantined } = lastHour;
    if (quarantined <= limit * (messages + quarantined)) return [];
    const percent = inPercent(limit);
    return [
      {
        subject: 'messages',
        text: `more than ${percent} % of the messages of the last hour could not be used`,
      },
    ];
  },
};

export const disk: AlertCondition<'disk'> = {
  title: 'Disk nearly full',
  isUrgent: true,
  isOfMachine: true,
  find({ disk: found }, { limit }) {
    if (found === undefined) return undefined;
    const { freeBytes, sizeBytes, folder, machine } = found;
    if (freeBytes >= limit * sizeBytes) return [];
    const percent = inPercent(limit);
    const text = `less than ${percent} % of the disk of dataDir, ${folder} on ${machine}, is free; free some space or enlarge it, because the stream refuses messages before the disk is full`;
    return [{ subject: 'dataDir', text }];
  },
};

export const inputDisconnected: AlertCondition<'inputDisconnected'> = {
  title: 'Input disconnected',
  isUrgent: true,
  find: ({ inputs }, { limit }) =>
    inputs?.flatMap(({ input, address, disconnectedMs, losses, problem }) => {
      const isUnstable = losses >= LOSSES_MAX;
      // One lost connection can be a restart of the broker, and every start begins without a connection.
      // There is no alert for either of them.
      if (disconnectedMs === null && losses <= 1) return [];
      const isUnclear = !isUnstable && (disconnectedMs === null || disconnectedMs < limit);
      const what = isUnstable ? 'loses its connection' : 'is not connected';
      const text = `input ${input} ${what} to ${address}${isUnstable ? ' again and again' : ''}${problem ? `: ${problem}` : ''}`;
      return [{ subject: input, text, ...(isUnclear && { isUnclear }) }];
    }),
};
