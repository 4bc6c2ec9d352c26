import type {
  Balances,
  DayChanges,
  DayDetails,
  DeviceStatuses,
  PipelineStatus,
  Profiles,
} from '../../../src/web/facts/answers.ts';
import { deviceKind } from '../../../src/web/facts/device-kind.ts';
import { flagWords } from '../../../src/web/words/flag-words.ts';
import {
  amount,
  balanceColumns,
  figureLines,
  missingWords,
  roleNames,
  seriesColumns,
  sum,
  type Wh,
} from './expected-figure.ts';
import { isMarked, sorted, stateOf } from './expected-flags.ts';
import { heatLines, heatRows } from './expected-quality.ts';
import { ask } from './open-page.ts';
import { daysFrom, type Facts, namerOf, shift } from './page-facts.ts';
import { ago, clock, count, energy, longDay, many, period } from './plain-words.ts';

const QUARTER_MS = 900_000;

/** All numbers of the overview of a workgroup of few devices, from the endpoints. */
export async function overviewLines(id: string, facts: Facts): Promise<string[]> {
  const { today, yesterday, zone } = facts;
  const month = `${today.slice(0, 7)}-01`;
  const first = [shift(today, -29), month].sort()[0]!;
  const range = `startDate=${first}&endDate=${today}`;
  const ofToday = `startDate=${today}&endDate=${today}`;
  const [statuses, details, balances, profiles, quarters, changes, status] = await Promise.all([
    ask<DeviceStatuses>(`${id}/device-status`),
    ask<DayDetails>(`${id}/daily-energy/details?${range}&groupBy=source`),
    ask<Balances>(`${id}/balance?${range}`).catch(() => undefined),
    ask<Profiles>(`${id}/interval-energy?${ofToday}&groupBy=source`),
    ask<Balances>(`${id}/balance?${ofToday}&resolution=interval`).catch(() => undefined),
    ask<DayChanges>(`${id}/daily-energy/changes?since=${shift(today, -7)}`),
    ask<PipelineStatus>(`${id}/status`),
  ]);
  const keys = [...new Set(Object.values(details).flatMap((values) => Object.keys(values)))];
  const nameOf = namerOf(statuses);
  const known = daysFrom(first, today).filter((day) => Object.keys(details[day]!).length > 0);
  const days = daysFrom([shift(today, -29), [known[0]!, shift(today, -6)].sort()[0]!].sort()[1]!, today);
  const span = days.length;
  const attention = attentionOf({ details, statuses, changes, status, today, nameOf, nowMs: facts.nowMs });
  const columns = balances
    ? balanceColumns(days, balances, details, today)
    : seriesColumns(days, keys, details, today);
  const doubtful = days.filter(
    (day) => day !== today && Object.values(details[day]!).some(({ flags }) => isMarked(flags)),
  ).length;
  const rows = heatRows(days, keys, (key, day) => details[day]?.[key], { today, nameOf });
  const figure = {
    label: `Energy of the last ${span} days`,
    wholeName: `Last ${span} days`,
    ...(!balances && { whole: sum(columns.flatMap(({ values }) => values)) }),
    legend: balances ? [...roleNames] : keys.map(nameOf),
    columns,
  };
  const whole = (index: number) => amount(sum(columns.map(({ values }) => values[index])));
  const begin = balances
    ? `${whole(0)} produced, ${whole(3)} used`
    : `${amount(figure.whole)} by ${many(keys.length, 'source')}`;
  return [
    ...stateLines(attention, statuses, profiles[today], facts),
    ...tileLines({ details, balances, quarters, keys, today, yesterday, month, zone, firstDay: known[0]! }),
    ...attention.slice(0, 6).map(({ rank, text, leads }) => `${rankWords[rank]}: ${text}${leads}: ${text}`),
    `Last ${span} days`,
    `${begin} so far in ${period(days[0]!, today)}. ${missingWords(columns, today, doubtful)} More about energy`,
    ...figureLines(figure),
    `Quality of the last ${span} days`,
    ...heatLines(`Quality of the last ${span} days`, days, rows),
  ];
}

function stateLines(
  attention: Attention[],
  statuses: DeviceStatuses,
  profile: Profiles[string] | undefined,
  { zone, nowMs }: Facts,
): string[] {
  const serious = attention.filter(({ rank }) => rank !== 'noted');
  const kinds = Object.values(statuses).map((status) => deviceKind(status, nowMs));
  const countOf = (kind: string) => kinds.filter((one) => one === kind).length;
  const known = kinds.length - countOf('unknown');
  const [heard, words] =
    countOf('online') === 0 && countOf('heard') > 0
      ? [countOf('heard'), 'sending data']
      : [countOf('online'), 'online'];
  const asleep = countOf('asleep') > 0 ? `, ${countOf('asleep')} asleep` : '';
  const ends = Object.entries(profile?.energyWh ?? {})
    .filter(([key]) => statuses[key.slice(0, 36)]?.state !== 'offline')
    .map(([, values]) => values.findLastIndex((wh) => wh !== null) + 1)
    .filter((end) => end > 0);
  const complete =
    ends.length === 0
      ? 'Nothing of today is known yet.'
      : `Energy of today is complete up to ${clock(Date.parse(profile!.start) + Math.min(...ends) * QUARTER_MS, zone)} (${zone}).`;
  return [
    serious.length > 0
      ? `${many(serious.length, 'thing')} ${serious.length === 1 ? 'needs' : 'need'} attention.`
      : '',
    serious[0]?.text ?? '',
    `${count(heard)} of ${many(known, 'device')} ${heard === 1 ? 'is' : 'are'} ${words}${asleep}. ${complete}`,
  ];
}

function tileLines(facts: {
  details: DayDetails;
  balances: Balances | undefined;
  quarters: Balances | undefined;
  keys: readonly string[];
  today: string;
  yesterday: string;
  month: string;
  zone: string;
  firstDay: string;
}): string[] {
  const { details, balances, quarters, keys, today, yesterday, month, zone, firstDay } = facts;
  const producing = new Set(
    Object.values(balances ?? {}).flatMap(({ parts }) =>
      parts.filter(({ role }) => role === 'production').map(({ device, source }) => `${device}.${source}`),
    ),
  );
  const chosen = balances ? keys.filter((key) => producing.has(key)) : keys;
  const mainOf = (day: string) => sum(chosen.map((key) => details[day]?.[key]?.energyWh));
  const words = balances ? 'produced' : 'all sources';
  const before = Array.from({ length: 28 }, (_, index) => mainOf(shift(yesterday, -1 - index)));
  const usual = medianOf(before.filter((wh): wh is number => wh !== null));
  const ended = mainOf(yesterday);
  const missing = Math.max(
    0,
    ...chosen.map((key) => {
      const value = details[yesterday]?.[key];
      return value?.flags.includes('partial')
        ? Math.ceil(((1 - value.coverage) * 86_400_000) / 60_000) * 60_000
        : 0;
    }),
  );
  const ofMonth = daysFrom(month, today).filter((day) => day >= firstDay && day in details);
  const used = ofMonth.map((day) => balances?.[day]?.consumptionWh ?? null);
  const unknown = ofMonth.filter((day, index) => day !== today && used[index] === null).length;
  const isTodayKnown = balances?.[today]?.consumptionWh != null;
  const balance = balances?.[yesterday];
  const change =
    ended === null
      ? ''
      : usual === undefined
        ? 'Too few days to say what is usual.'
        : `{${((ended - usual) / usual) * 100}} on a usual day.`;
  return [
    `${amount(ended)} ${words}`,
    `${change}${missing > 0 ? ` Not measured: {${missing}} of the day.` : ''}`,
    balance ? `${amount(balance.consumptionWh)} used` : '',
    `${amount(mainOf(today))} ${words}`,
    quarters ? lastQuarter(quarters, zone) : '',
    balance ? `Autarky {${balance.autarky}}` : '',
    balance ? `Self-consumption {${balance.selfConsumptionRate}}` : '',
    `${amount(sum(ofMonth.map(mainOf)))} ${words}`,
    balances
      ? `${amount(sum(used))} used${unknown > 0 ? ` ${many(unknown, 'day')} ${unknown === 1 ? 'is' : 'are'} not known` : isTodayKnown ? '' : ' up to yesterday'}`
      : '',
  ];
}

/** The median of at least five days. */
function medianOf(values: number[]): number | undefined {
  if (values.length < 5) return undefined;
  const inOrder = values.toSorted((a, b) => a - b);
  const half = inOrder.length / 2;
  return inOrder.length % 2 === 1
    ? inOrder[Math.floor(half)]!
    : Math.round((inOrder[half - 1]! + inOrder[half]!) / 2);
}

/** Of the last two hours that are known, the latest of the quarters of which most is known. */
function lastQuarter(quarters: Balances, zone: string): string {
  const all = Object.keys(quarters)
    .sort()
    .map((start) => {
      const { productionWh, consumptionWh, gridImportWh } = quarters[start]!;
      const values: Array<[Wh, string]> = [
        [productionWh, 'produced'],
        [consumptionWh, 'used'],
        [gridImportWh, 'from the grid'],
      ];
      return { startMs: Date.parse(start), known: values.filter(([wh]) => wh !== null) };
    })
    .filter(({ known }) => known.length > 0);
  const lateMs = all.at(-1)?.startMs ?? 0;
  const recent = all.filter(({ startMs }) => startMs >= lateMs - 2 * 3_600_000);
  const most = Math.max(...recent.map(({ known }) => known.length));
  const last = recent.findLast(({ known }) => known.length === most);
  if (!last) return '';
  const powers = last.known.map(([wh, words]) => `{${wh! * 4}} ${words}`).join(', ');
  return `${clock(last.startMs, zone)} – ${clock(last.startMs + QUARTER_MS, zone)}: ${powers}`;
}

interface Attention {
  rank: 'bad' | 'doubtful' | 'noted';
  text: string;
  leads: string;
}
const rankWords = { bad: 'Serious', doubtful: 'Doubtful', noted: 'For information' };

/** What needs attention, worst first. */
function attentionOf(facts: {
  details: DayDetails;
  statuses: DeviceStatuses;
  changes: DayChanges;
  status: PipelineStatus;
  today: string;
  nameOf(key: string): string;
  nowMs: number;
}): Attention[] {
  const { details, statuses, changes, status, today, nameOf, nowMs } = facts;
  const found: Attention[] = [];
  for (const { severity, about, message, since, path } of status.findings) {
    if (severity === 'note' || about === 'device') continue;
    const text = `${message}${path === null ? '' : ` (${path})`}${since === null ? '' : `, ${ago(since, nowMs)}`}.`;
    found.push({
      rank: severity === 'bad' ? 'bad' : 'doubtful',
      text: `${text[0]!.toUpperCase()}${text.slice(1)}`,
      leads: about === 'problem' ? 'Configuration' : about === 'export' ? 'Exports' : 'Pipeline',
    });
  }
  for (const [id, one] of Object.entries(statuses)) {
    if (deviceKind(one, nowMs) !== 'offline') continue;
    const span = one.since === null ? 'just now' : ago(one.since, nowMs);
    const words = span === 'just now' ? 'is offline' : `has been offline for ${span.replace(' ago', '')}`;
    found.push({
      rank: 'bad',
      text: `${nameOf(id)} ${words}${one.reason ? ` (${one.reason})` : ''}.`,
      leads: 'Its day',
    });
  }
  const lines = new Map<string, { keys: string[]; days: string[]; flags: string[] }>();
  const flagged = new Map<string, { keys: Set<string>; days: Set<string> }>();
  for (let back = 1; back <= 7; back++)
    for (const [key, { flags }] of Object.entries(details[shift(today, -back)] ?? {}))
      for (const flag of flags.filter((one) => isMarked([one]))) {
        const one = flagged.get(flag) ?? { keys: new Set(), days: new Set() };
        one.keys.add(key);
        one.days.add(shift(today, -back));
        flagged.set(flag, one);
      }
  for (const [flag, { keys, days }] of flagged) {
    const place = [...keys, ...days].join(' ');
    const line = lines.get(place) ?? { keys: [...keys], days: [...days], flags: [] };
    line.flags.push(flag);
    lines.set(place, line);
  }
  for (const { keys, days, flags } of lines.values()) {
    const when =
      days.length === 1
        ? `on ${longDay(days[0]!)}`
        : `on ${many(days.length, 'day')}, last on ${longDay(days[0]!)}`;
    found.push({
      rank: stateOf(flags) as 'bad' | 'doubtful',
      text: `${namesOf(keys, nameOf)} ${when}: ${sorted(flags)
        .map((flag) => flagWords[flag]!.words)
        .join('; ')}.`,
      leads: keys.length === 1 && details[days[0]!]?.[keys[0]!] ? 'Why' : 'Quality',
    });
  }
  const added = changes.changes.filter(({ kind }) => kind === 'added');
  // The source had energy on an earlier day in time. The past of a source that has just begun is no hole.
  const isHole = ({ day, device, source }: DayChanges['changes'][number]) =>
    Object.keys(details).some(
      (earlier) =>
        earlier < day &&
        details[earlier]![`${device}.${source}`] !== undefined &&
        !added.some((one) => one.day === earlier && one.device === device && one.source === source),
    );
  const yesterday = shift(today, -1);
  const known = Object.entries(details).flatMap(([day, values]) =>
    day < yesterday ? Object.keys(values) : [],
  );
  const silent = [...new Set(known)].filter((key) => details[yesterday]?.[key] === undefined);
  if (silent.length > 0)
    found.push({
      rank: 'bad',
      text: `${namesOf(silent, nameOf)}: no energy on ${longDay(yesterday)}.`,
      leads: 'Quality',
    });
  for (const [kinds, words] of [
    [['restated', 'withdrawn', 'provisional'], 'changed'],
    [['added'], 'without energy got some'],
  ] as const) {
    const changed = changes.changes.filter(
      (change) =>
        (kinds as readonly string[]).includes(change.kind) && (change.kind !== 'added' || isHole(change)),
    );
    if (changed.length === 0) continue;
    const wh = sum(changed.map(({ differenceWh }) => differenceWh))!;
    const { day, device, source } = changed[0]!;
    const days = new Set(changed.map((change) => change.day)).size;
    found.push({
      rank: 'noted',
      text: `In the last week ${many(days, 'closed day')} ${words} (${wh > 0 ? '+' : ''}${energy(wh)}), such as ${longDay(day)} of ${nameOf(`${device}.${source}`)}.`,
      leads: 'Why',
    });
  }
  const order = ['bad', 'doubtful', 'noted'];
  return found.toSorted((a, b) => order.indexOf(a.rank) - order.indexOf(b.rank));
}

const namesOf = (keys: readonly string[], nameOf: (key: string) => string) =>
  `${nameOf(keys[0]!)}${keys.length === 1 ? '' : ` and ${many(keys.length - 1, 'other source')}`}`;
