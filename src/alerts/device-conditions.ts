import type { ConditionSettings } from '../config/alert-settings.ts';
import { formatCount, formatCountOf } from '../lib/format-count.ts';
import { formatInstant, HOUR_MS } from '../lib/time.ts';
import type { AlertCondition, AlertFinding } from './alert-condition-type.ts';
import type { AlertFacts, DayFact } from './alert-facts.ts';

export const deviceSilent: AlertCondition<'deviceSilent'> = {
  title: 'Device silent',
  find: ({ silences, nameOf }, { limit }) =>
    silences
      ?.filter(({ silentMs }) => silentMs >= limit)
      .map(({ device, lastSeenMs }) => ({
        subject: device,
        text: `${nameOf(device)} has sent nothing since ${formatInstant(lastSeenMs).slice(0, 16)}Z`,
      })),
};

export const deviceIdle: AlertCondition<'deviceIdle'> = {
  title: 'Device without energy',
  find: (facts, { limit }) =>
    facts.idleDays
      ?.filter(({ siblings }) => siblings >= limit)
      .map(({ device, source, day, siblings }) => ({
        subject: `${device} ${source}`,
        text: `${facts.nameOf(device)}, ${source}, reports and has 0 Wh on ${day}, while ${formatCountOf(siblings, 'other has', 'others have')} energy`,
      })),
};

export const coverage: AlertCondition<'coverage'> = {
  title: 'Day with missing readings',
  isNews: true,
  find: (facts, { limit }: ConditionSettings<'coverage'>) =>
    facts.thinDays
      ?.filter((fact) => fact.coverage < limit)
      .map((fact) =>
        dayFinding(
          facts,
          fact,
          `has readings for ${Math.floor(fact.coverage * 100)} % of ${fact.day}, which is final`,
        ),
      ),
};

export const dayFlagged: AlertCondition<'dayFlagged'> = {
  title: 'Day with a doubt',
  isNews: true,
  find: (facts, { limit }) =>
    facts.flaggedDays
      ?.filter(({ flag }) => (limit as readonly string[]).includes(flag))
      .map((fact) => dayFinding(facts, fact, `has the flag ${fact.flag} on ${fact.day}`, fact.flag)),
};

export const dayRestated: AlertCondition<'dayRestated'> = {
  title: 'Final days changed',
  isNews: true,
  endsQuietly: true,
  digestMs: HOUR_MS,
  find: (facts) =>
    facts.restatedDays?.map((fact) =>
      dayFinding(
        facts,
        fact,
        `has ${wh(fact.afterWh)} on ${fact.day} instead of ${wh(fact.beforeWh)}`,
        String(fact.version),
      ),
    ),
};

const wh = (value: number | null) => (value === null ? 'no energy' : `${formatCount(value)} Wh`);

function dayFinding(
  { nameOf }: AlertFacts,
  { day, device, source, seenUntilMs }: DayFact,
  says: string,
  more?: string,
): AlertFinding {
  return {
    subject: [day, device, source, ...(more === undefined ? [] : [more])].join(' '),
    text: `${nameOf(device)}, ${source}, ${says}`,
    lastsUntilMs: seenUntilMs,
  };
}
