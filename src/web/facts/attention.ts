import { linkTo, type PageName } from '../app/address.ts';
import { flagWords, sortFlags, worstRank } from '../words/flag-words.ts';
import { type LocalDay, shiftDay } from '../words/local-days.ts';
import { formatEnergy, plural } from '../words/number-words.ts';
import { sentence } from '../words/sentence.ts';
import { longDay, timeAgo, timeSince } from '../words/time-words.ts';
import type { DayChange, DayChanges, DayDetails, DeviceStatuses, PipelineStatus } from './answers.ts';
import { deviceKind } from './device-kind.ts';
import { deviceName, splitSeries } from './series.ts';

/** Something that a person should look at, with a link to the page that says more. */
export interface Attention {
  key: string;
  rank: 'bad' | 'doubtful' | 'noted';
  text: string;
  href: string;
  /** What the link shows. */
  leads: string;
}

const RECENT_DAYS = 7;
const ranks = ['bad', 'doubtful', 'noted'] as const;

/**
 * What needs attention, worst first: the pipeline, silent devices, days that cannot be trusted, missing days,
 * and restated days.
 */
export function findAttention(facts: {
  workgroup: string;
  today: LocalDay;
  details: DayDetails;
  statuses: DeviceStatuses;
  changes: DayChanges | undefined;
  /** Undefined if the token may not see it, or while it is read. */
  pipeline: Pick<PipelineStatus, 'findings'> | undefined;
  nameOf(key: string): string;
}): Attention[] {
  const findings = [
    ...pipelineFindings(facts),
    ...offline(facts),
    ...silent(facts),
    ...flagged(facts),
    ...withoutEnergy(facts),
    ...restated(facts),
  ];
  return findings.sort((a, b) => ranks.indexOf(a.rank) - ranks.indexOf(b.rank));
}

type Facts = Parameters<typeof findAttention>[0];

/**
 * The findings of the pipeline. Notes are shown only on its page, and devices are left out because they have
 * lines of their own with their names.
 */
function pipelineFindings({ workgroup, pipeline }: Facts): Attention[] {
  return (pipeline?.findings ?? [])
    .filter(({ severity, about }) => severity !== 'note' && about !== 'device')
    .map(({ severity, about, message, since, path }) => ({
      key: `pipeline ${about} ${path} ${message}`,
      rank: severity === 'bad' ? 'bad' : 'doubtful',
      text: sentence(
        `${message}${path === null ? '' : ` (${path})`}${since === null ? '' : `, ${timeAgo(since)}`}`,
      ),
      href: linkTo(workgroup, placesOfFindings[about]?.page ?? 'pipeline'),
      leads: placesOfFindings[about]?.name ?? 'Pipeline',
    }));
}

const placesOfFindings: Partial<
  Record<PipelineStatus['findings'][number]['about'], { page: PageName; name: string }>
> = {
  problem: { page: 'configuration', name: 'Configuration' },
  export: { page: 'exports', name: 'Exports' },
};

function offline({ workgroup, statuses, today }: Facts): Attention[] {
  return Object.entries(statuses)
    .filter(([, status]) => deviceKind(status) === 'offline')
    .map(([id, { since, reason }]) => ({
      key: `offline ${id}`,
      rank: 'bad',
      text: `${deviceName(id, statuses)} ${offlineWords(since)}${reason ? ` (${reason})` : ''}.`,
      href: linkTo(workgroup, 'day', { day: today, device: id }),
      leads: 'Its day',
    }));
}

function offlineWords(since: string | null): string {
  const span = since === null ? undefined : timeSince(since);
  return span === undefined ? 'is offline' : `has been offline for ${span}`;
}

/**
 * Devices that are silent without having been announced as offline. Those without energy yesterday already
 * have another line.
 */
function silent({ workgroup, today, details, statuses }: Facts): Attention[] {
  const known = new Set(keysWithout(details, shiftDay(today, -1)).map((key) => splitSeries(key).device));
  const ids = Object.keys(statuses).filter((id) => deviceKind(statuses[id]!) === 'silent' && !known.has(id));
  if (ids.length === 0) return [];
  const [first] = ids.toSorted((a, b) => (statuses[a]!.lastSeen! < statuses[b]!.lastSeen! ? -1 : 1));
  const others =
    ids.length === 1 ? '' : `, and ${plural(ids.length - 1, 'other device')} for more than a day`;
  return [
    {
      key: 'silent',
      rank: 'doubtful',
      text: `${deviceName(first!, statuses)} sent its last data ${timeAgo(statuses[first!]!.lastSeen!)}${others}.`,
      href: linkTo(workgroup, 'devices', { state: 'silent' }),
      leads: 'Devices',
    },
  ];
}

/** One line for the flags of the same days of the same sources, with the newest of the days. */
function flagged(facts: Facts): Attention[] {
  const { workgroup, today, details, nameOf } = facts;
  const byFlag = new Map<string, { flag: string; keys: Set<string>; days: Set<LocalDay> }>();
  for (let back = 1; back <= RECENT_DAYS; back++) {
    const day = shiftDay(today, -back);
    for (const [key, { flags }] of Object.entries(details[day] ?? {}))
      for (const flag of flags) {
        if (worstRank([flag]) === 'noted') continue;
        const flagDays = byFlag.get(flag) ?? { flag, keys: new Set(), days: new Set() };
        flagDays.keys.add(key);
        flagDays.days.add(day);
        byFlag.set(flag, flagDays);
      }
  }
  const lines = Map.groupBy(byFlag.values(), ({ keys, days }) => [...keys, ...days].join(' '));
  return [...lines.values()].map((line) => {
    const { keys, days } = line[0]!;
    const flags = sortFlags(line.map(({ flag }) => flag));
    const [last] = days;
    const when =
      days.size === 1 ? `on ${longDay(last!)}` : `on ${plural(days.size, 'day')}, last on ${longDay(last!)}`;
    const words = flags.map((flag) => flagWords[flag]?.words ?? flag);
    return {
      key: `flags ${flags.join(' ')} ${[...keys].join(' ')}`,
      rank: worstRank(flags)!,
      text: `${namesOf([...keys], nameOf)} ${when}: ${words.join('; ')}.`,
      ...placeOf(workgroup, [...keys], last!),
    };
  });
}

/** Sources that had energy in these thirty days, and none yesterday. */
function withoutEnergy({ workgroup, today, details, nameOf }: Facts): Attention[] {
  const yesterday = shiftDay(today, -1);
  const keys = keysWithout(details, yesterday);
  if (keys.length === 0) return [];
  return [
    {
      key: 'without-energy',
      rank: 'bad',
      text: `${namesOf(keys, nameOf)}: no energy on ${longDay(yesterday)}.`,
      href: linkTo(workgroup, 'quality'),
      leads: 'Quality',
    },
  ];
}

/** Sources that have energy on an earlier day, and none on this day. */
function keysWithout(details: DayDetails, day: LocalDay): string[] {
  const known = Object.entries(details).flatMap(([other, values]) =>
    other < day ? Object.keys(values) : [],
  );
  return [...new Set(known)].filter((key) => details[day]?.[key] === undefined);
}

/** One source by its name, several by the first name and their number. */
function namesOf(keys: readonly string[], nameOf: (key: string) => string): string {
  const [first = ''] = keys;
  const name = nameOf(first);
  return keys.length === 1 ? name : `${name} and ${plural(keys.length - 1, 'other source')}`;
}

/** Where a line leads: for one source to the explanation of its newest day, for several to the heat map. */
function placeOf(workgroup: string, keys: readonly string[], day: LocalDay) {
  const [first = ''] = keys;
  if (keys.length > 1) return { href: linkTo(workgroup, 'quality'), leads: 'Quality' };
  return { href: linkTo(workgroup, 'why', { ...splitSeries(first), day }), leads: 'Why' };
}

/**
 * Closed days that have changed, and days without energy that got some after they were closed. The past of a
 * new source does not count, because nobody has seen its days without energy.
 */
function restated({ workgroup, changes, details, nameOf }: Facts): Attention[] {
  const added = changes?.changes.filter(({ kind }) => kind === 'added') ?? [];
  const firstDays = firstDaysOf(details, added);
  const isHole = ({ day, device, source }: DayChange) => {
    const first = firstDays.get(`${device}.${source}`) ?? firstDays.get(device);
    return first !== undefined && first < day;
  };
  return (['restated', 'added'] as const).flatMap((kind) => {
    const changesOfKind =
      kind === 'added'
        ? added.filter(isHole)
        : (changes?.changes.filter((change) => change.kind !== 'added') ?? []);
    const [first] = changesOfKind;
    if (!first) return [];
    const wh = changesOfKind.reduce((sum, { differenceWh }) => sum + differenceWh, 0);
    const days = new Set(changesOfKind.map(({ day }) => day)).size;
    const words = kind === 'added' ? 'without energy got some' : 'changed';
    const { device, source, day } = first;
    return {
      key: kind,
      rank: 'noted' as const,
      text: `In the last week ${plural(days, 'closed day')} ${words} (${wh > 0 ? '+' : ''}${formatEnergy(wh)}), such as ${longDay(day)} of ${nameOf(`${device}.${source}`)}.`,
      href: linkTo(workgroup, 'why', { device, source, day }),
      leads: 'Why',
    };
  });
}

/** The first day of each series on which its energy was there before the day was closed. */
function firstDaysOf(details: DayDetails, added: readonly DayChange[]): ReadonlyMap<string, LocalDay> {
  const late = new Set(
    added.flatMap(({ day, device, source }) => [`${day} ${device}.${source}`, `${day} ${device}`]),
  );
  const first = new Map<string, LocalDay>();
  for (const day of Object.keys(details).sort())
    for (const key of Object.keys(details[day]!))
      if (!first.has(key) && !late.has(`${day} ${key}`)) first.set(key, day);
  return first;
}
