import type { DayDetails, DeviceList, DeviceStatuses, Explained } from '../../../src/web/facts/answers.ts';
import { deviceKind } from '../../../src/web/facts/device-kind.ts';
import { amount, figureLines, missingWords, row, seriesColumns, sum } from './expected-figure.ts';
import { isMarked } from './expected-flags.ts';
import { ask } from './open-page.ts';
import { daysFrom, type Facts, namerOf, shift } from './page-facts.ts';
import { ago, count, longDay, many, period } from './plain-words.ts';

const DAYS = 30;
const words: Readonly<Record<string, [filter: string, state: string]>> = {
  offline: ['Offline', 'offline'],
  silent: ['Silent for a day', 'silent'],
  online: ['Online', 'online'],
  heard: ['Sending data', 'sends data'],
  asleep: ['Asleep', 'asleep'],
  unknown: ['Never sent data', 'no message yet'],
};

/** The page of devices. @param opened the device whose card is open */
export async function deviceLines(id: string, facts: Facts, opened?: string): Promise<string[]> {
  const { today, yesterday, nowMs } = facts;
  const days = daysFrom(shift(today, 1 - DAYS), today);
  const [statuses, details] = await Promise.all([
    ask<DeviceStatuses>(`${id}/device-status`),
    ask<DayDetails>(`${id}/daily-energy/details?startDate=${days[0]}&endDate=${today}`),
  ]);
  const all = Object.entries(statuses).map(([device, status]) => ({
    device,
    status,
    kind: deviceKind(status, nowMs),
    name: namerOf(statuses)(device),
  }));
  const countOf = (kind: string) => all.filter((one) => one.kind === kind).length;
  const newest = all
    .flatMap(({ status }) => status.lastSeen ?? [])
    .sort()
    .at(-1);
  const of = `of ${many(all.length, 'device')}`;
  const are = (number: number) => (number === 1 ? 'is' : 'are');
  const [online, heard] = [countOf('online'), countOf('heard')];
  const sentence = [
    (online > 0 || heard === 0) && `${count(online)} ${of} ${are(online)} online.`,
    heard > 0 &&
      `${heard} ${of} ${heard === 1 ? 'sends' : 'send'} data. The service does not report silent devices; the setting stream.deviceTimeout changes that.`,
    countOf('offline') > 0 &&
      `${countOf('offline')} ${are(countOf('offline'))} offline and should be looked at.`,
    countOf('silent') > 0 &&
      `${countOf('silent')} ${countOf('silent') === 1 ? 'has' : 'have'} sent nothing for a day.`,
    countOf('asleep') > 0 && `${countOf('asleep')} ${are(countOf('asleep'))} asleep, as announced.`,
    countOf('unknown') > 0 && `${countOf('unknown')} never sent anything.`,
    newest && `The newest data came ${ago(newest, nowMs)}.`,
  ];
  const filters = Object.entries(words).filter(([kind]) => countOf(kind) > 0);
  return [
    `All ${all.length}`,
    ...filters.map(([kind, [filter]]) => `${filter} ${countOf(kind)}`),
    ...(opened === undefined ? [] : await cardLines(id, opened, statuses, facts)),
    sentence.filter(Boolean).join(' '),
    row('Device', 'State', 'Last data', 'Yesterday', `Last ${DAYS} days`),
    ...all.map(({ device, name, status, kind }) => {
      const values = days.map((day) => details[day]?.[device]?.energyWh ?? null);
      const first = values.findIndex((wh) => wh !== null);
      const expected = first < 0 ? [] : values.slice(first, values.at(-1) === null ? -1 : undefined);
      const missing = expected.filter((wh) => wh === null).length;
      return row(
        name,
        stateWords(kind, status),
        lastData(kind, status),
        amount(details[yesterday]?.[device]?.energyWh),
        expected.length === 0
          ? 'no energy'
          : missing > 0
            ? `${many(missing, 'day')} without data`
            : `${many(expected.length, 'day')}, none without data`,
      );
    }),
  ];
}

function stateWords(kind: string, { since, reason, lastSeen }: DeviceStatuses[string]): string {
  const [, state] = words[kind]!;
  if (kind === 'silent') return `${state} last data <${lastSeen}>`;
  if (since === null) return state;
  return `${state} <${since}>${reason && reason !== state ? `, ${reason}` : ''}`;
}

function lastData(kind: string, { since, lastSeen }: DeviceStatuses[string]): string {
  if (lastSeen === null) return '–';
  const isLate = kind === 'offline' && since !== null && lastSeen > since;
  return `<${lastSeen}>${isLate ? ', after it went offline' : ''}`;
}

async function cardLines(
  id: string,
  device: string,
  statuses: DeviceStatuses,
  { today, nowMs }: Facts,
): Promise<string[]> {
  const days = daysFrom(shift(today, 1 - DAYS), today);
  const [details, list] = await Promise.all([
    ask<DayDetails>(
      `${id}/daily-energy/details?startDate=${days[0]}&endDate=${today}&groupBy=source&devices=${device}`,
    ),
    ask<DeviceList>(`${id}/devices`),
  ]);
  const keys = [...new Set(Object.values(details).flatMap((values) => Object.keys(values)))];
  const status = statuses[device]!;
  const listed = list.devices.find((one) => one.id === device)!;
  const columns = seriesColumns(days, keys, details, today);
  const last = days.findLast((day) => day < today && Object.keys(details[day]!).length > 0)!;
  const { sources } = await ask<Explained>(`${id}/daily-energy/explain?device=${device}&day=${last}`);
  const doubtful = days.filter(
    (day) => day !== today && Object.values(details[day]!).some(({ flags }) => isMarked(flags)),
  ).length;
  const whole = sum(columns.flatMap(({ values }) => values));
  const name = period(days[0]!, today);
  return [
    row('State', stateWords(deviceKind(status, nowMs), status)),
    row('Since', status.since === null ? '–' : `<${status.since}>`),
    row('Last data', lastData(deviceKind(status, nowMs), status)),
    row('Id', device),
    row('Sites', listed.sites.join(', ')),
    row('Meters', listed.meters.join(', ')),
    `Why the number of ${longDay(last)}`,
    `${amount(whole)} by ${many(keys.length, 'source')} so far in ${name}. ${missingWords(columns, today, doubtful)}`,
    ...figureLines({
      label: `Energy of ${namerOf(statuses)(device)}, last ${DAYS} days`,
      wholeName: `Last ${DAYS} days`,
      whole,
      legend: keys.map((key) => key.slice(37)),
      columns,
    }),
    ...sources.flatMap(({ limits }) =>
      limitNames.flatMap(([key, title, unit]) => {
        const { value, from, text } = limits![key];
        if (value === null && from !== 'configured') return [];
        const shown =
          value === null ? '–' : unit === 'Wh' ? `${value.toLocaleString('en-GB')} Wh` : amount(value);
        return row(title, shown, from, text);
      }),
    ),
  ];
}

const limitNames = [
  ['maxPowerW', 'Highest power that is believed', 'W'],
  ['jitterWh', 'Falls of a register that are ignored', 'Wh'],
  ['resolutionWh', 'Step of the register', 'Wh'],
  ['modulusWh', 'The register begins again at', 'Wh'],
  ['maxGapMilliseconds', 'Longest gap between samples of power', 'ms'],
  ['intervalMilliseconds', 'Length of an interval', 'ms'],
] as const;
