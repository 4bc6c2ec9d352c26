import type {
  AlertsAnswer,
  AuditEntries,
  Backfills,
  DayChanges,
  DeviceList,
  DeviceStatuses,
  ExportList,
  Gaps,
  Imports,
  MeterList,
  PipelineStatus,
  QuarantineAnswer,
  SiteList,
  Tokens,
} from '../../../src/web/facts/answers.ts';
import { causeWords, changeKindWords } from '../../../src/web/words/change-words.ts';
import { amount, row } from './expected-figure.ts';
import { ask } from './open-page.ts';
import { type Facts, namerOf, shift } from './page-facts.ts';
import { ago, count, dateOf, longDay, many } from './plain-words.ts';

const at = (instant: string | null | undefined) => (instant ? `<${instant}>` : '–');
const sentence = (text: string) =>
  `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
const spaced = (text: string) => text.replaceAll('_', ' ');

/** The page of the pipeline. */
export async function pipelineLines(id: string, { nowMs }: Facts): Promise<string[]> {
  const [status, alerts, gaps, backfills, quarantine, imports, statuses] = await Promise.all([
    ask<PipelineStatus>(`${id}/status`),
    ask<AlertsAnswer>(`${id}/alerts?limit=20`),
    ask<Gaps>(`${id}/gaps`),
    ask<Backfills>(`${id}/backfills`),
    ask<QuarantineAnswer>(`${id}/quarantine`),
    ask<Imports>(`${id}/imports`),
    ask<DeviceStatuses>(`${id}/device-status`),
  ]);
  return [
    ...chainLines(status, nowMs),
    ...(alerts.channels.length === 0 ? [] : alertLines(alerts)),
    ...gapLines(gaps),
    ...backfillLines(backfills),
    ...quarantineLines(quarantine, statuses),
    ...importLines(imports),
  ];
}

/** The lines of the state and of the stages. */
function chainLines(status: PipelineStatus, nowMs: number): string[] {
  const { findings, reason, state, updatedAt, lastHour, newestReadingAt, storedMessages, quarantined } =
    status;
  const { poll, rollup, publish, maintain } = status.stages;
  const others = findings.filter(({ message }) => message !== reason);
  const words = [
    poll.upToDate ? 'The stream is read to its end.' : '',
    lastHour ? `${many(lastHour.messages, 'message')} landed in the last hour.` : '',
    newestReadingAt ? `The newest reading was measured ${ago(newestReadingAt, nowMs)}.` : '',
    publish.lastSuccessAt ? `The report was last published ${ago(publish.lastSuccessAt, nowMs)}.` : '',
  ];
  return [
    sentence(reason),
    ...others.map(
      ({ message, path, since }) =>
        `${sentence(message)}${path ? ` ${path}` : ''}${since ? ` <${since}>` : ''}`,
    ),
    `The worker is ${state}. It wrote this state ${at(updatedAt)}.`,
    words.filter(Boolean).join(' '),
    ...[poll, poll, rollup, publish].map(({ lastSuccessAt }) => row('Last success', at(lastSuccessAt))),
    row('Behind', poll.lagMessages === null ? '–' : many(poll.lagMessages, 'message')),
    row('Last hour', lastHour ? many(lastHour.messages, 'message') : '–'),
    row('Stored', count(storedMessages)),
    row('Not used', count(quarantined)),
    row('Batch', rollup.batchId ?? '–'),
    row('Generation', publish.generation === null ? '–' : count(publish.generation)),
    maintain.lastSuccessAt
      ? `Maintenance, which compacts files and deletes old ones: works, last done ${at(maintain.lastSuccessAt)}.`
      : '',
  ];
}

function alertLines({ alerts, total, unseen, snoozes }: AlertsAnswer): string[] {
  const stateOf = ({ seenBy, known, snoozed, sentTo }: AlertsAnswer['alerts'][number]) =>
    seenBy !== null
      ? 'seen'
      : known
        ? 'known before'
        : snoozed
          ? 'snoozed'
          : sentTo.length > 0
            ? 'sent'
            : 'not sent yet';
  return [
    total > 0 ? `${many(total, 'open alert')}, ${unseen} not seen.` : '',
    ...alerts.map((one) => row(at(one.since), `${one.title}: ${one.text}`, stateOf(one), '')),
    ...alerts
      .filter(({ seenBy }) => seenBy === null)
      .map(({ title, subject }) => `@ Seen: ${title}, ${subject}`),
    ...snoozes.map(({ until }) => `All alerts are snoozed until ${at(until)}.`),
    snoozes.length > 0 ? '' : 'Send nothing for 12 hours',
  ];
}

const fills = {
  all: 'can be filled',
  part: 'can be filled in part',
  nothing: 'cannot be filled any more',
  unknown: 'not known if it can be filled',
};

function gapLines({ gaps, total }: Gaps): string[] {
  if (gaps.length === 0) return [];
  const countOf = (...wanted: string[]) => gaps.filter(({ available }) => wanted.includes(available)).length;
  const words = [
    `${many(total, 'gap')} ${total === 1 ? 'is' : 'are'} open.`,
    countOf('all', 'part') > 0 && `${countOf('all', 'part')} can be filled by a backfill of the gaps, below.`,
    countOf('nothing') > 0 &&
      `${countOf('nothing')} cannot be filled any more; import the data from another source.`,
  ];
  return [
    words.filter(Boolean).join(' '),
    ...gaps.map(({ id, from, to, available, reason, note }) =>
      row(
        String(id),
        at(from),
        at(to),
        from && to ? amount(Date.parse(to) - Date.parse(from)) : '–',
        fills[available],
        [spaced(reason), note].filter(Boolean).join(': '),
      ),
    ),
  ];
}

const backfilled: Readonly<Record<string, string>> = {
  stream: 'the stream',
  gaps: 'the gaps of the stream',
  archive: 'stored messages',
  quarantine: 'the quarantine',
};

function backfillLines({ backfills, total }: Backfills): string[] {
  if (backfills.length === 0) return [];
  const running = backfills.filter(({ state }) => state === 'running').length;
  return [
    running > 0
      ? `${many(running, 'backfill')} of ${count(total)} runs now.`
      : `${many(total, 'backfill')}, none runs now.`,
    ...backfills.map(({ id, source, from, to, state, messagesLanded, startedAt, note, progress }) =>
      row(
        String(id),
        `${backfilled[source]}${from ? `, ${at(from)} – ${to ? at(to) : 'now'}` : ''}`,
        state === 'running' ? `{${progress?.part}} {${progress?.part}}` : state,
        count(messagesLanded),
        at(startedAt),
        note ?? '',
        '',
      ),
    ),
    ...backfills.filter(({ state }) => state === 'running').map(({ id }) => `Cancel backfill ${id}`),
  ];
}

function quarantineLines({ total, groups, setAside }: QuarantineAnswer, statuses: DeviceStatuses): string[] {
  const nameOf = namerOf(statuses);
  return [
    total > 0 ? `${many(total, 'message or value', 'messages and values')} could not be used.` : '',
    ...groups.flatMap(({ kind, reason, count: number, devices, firstAt, lastAt, samples }) => [
      `${spaced(reason)}: ${many(number, kind === 'message' ? 'message' : 'value')}${devices > 0 ? ` of ${many(devices, 'device')}` : ''}`,
      `From ${at(firstAt)} to ${at(lastAt)}.${samples.length < number ? ' Some of them:' : ''}`,
      ...samples.map(({ device, source, field, eventTime, text, encoding, bytes, detail }) =>
        row(
          device ? [nameOf(device), source].filter(Boolean).join(' · ') : 'not named',
          field ?? '–',
          at(eventTime),
          `${text ?? '–'}${bytes === null ? '' : ` ${encoding === 'hex' ? 'hexadecimal, ' : ''}${many(bytes, 'byte')}`}`,
          detail ?? '',
        ),
      ),
    ]),
    ...setAside.map(({ device, source, field, since, error }) =>
      row(`${nameOf(device)} · ${source}`, field, at(since), error),
    ),
  ];
}

function importLines({ imports }: Imports): string[] {
  if (imports.length === 0) return [];
  const refused = imports.reduce((sum, { rowsRejected }) => sum + rowsRejected, 0);
  return [
    `${many(imports.length, 'file')}. ${refused > 0 ? `${many(refused, 'row')} could not be used.` : 'No row was refused.'}`,
    ...imports.map(({ file, table, rowsLanded, rowsRejected, rejected, startedAt }) =>
      row(
        file,
        table,
        'imported',
        count(rowsLanded),
        count(rowsRejected),
        Object.entries(rejected)
          .map(([reason, number]) => `${spaced(reason)} (${count(number)})`)
          .join(', '),
        at(startedAt),
      ),
    ),
  ];
}

/** The page of exports, with the closed days that have changed in a week. */
export async function exportLines(id: string, { today }: Facts): Promise<string[]> {
  const [{ exports }, { changes, totals }, statuses] = await Promise.all([
    ask<ExportList>(`${id}/exports`),
    ask<DayChanges>(`${id}/daily-energy/changes?since=${shift(today, -7)}`),
    ask<DeviceStatuses>(`${id}/device-status`),
  ]);
  const nameOf = namerOf(statuses);
  const added = changes.filter(({ before }) => before === null);
  const addedWh = added.reduce((sum, { after }) => sum + after.energyWh!, 0);
  const changed = totals.days - added.length;
  const difference = totals.differenceWh - addedWh;
  const words = [
    added.length > 0 &&
      `${many(added.length, 'source day')} got ${added.length === 1 ? 'its' : 'their'} first energy after being closed: {${addedWh}}.`,
    changed > 0 &&
      `${many(changed, 'source day')} changed after being closed, from {${totals.beforeWh}} to {${totals.afterWh - addedWh}}: a difference of {${difference}}.`,
  ];
  const runs = exports.flatMap((one) => one.runs);
  return [
    exports.length > 0
      ? `${many(exports.length, 'export')}. Everything that was due is delivered and still right.`
      : '',
    ...runs.map(({ startDay, endDay, revision, state, deliveredAt, file }) =>
      row(
        `${startDay === endDay ? longDay(startDay) : `${dateOf(startDay)} – ${dateOf(endDay)}`}${revision > 1 ? `, revision ${revision}` : ''}`,
        state,
        at(deliveredAt),
        count(file!.rows),
        amount(file!.energyWh),
        file!.name,
      ),
    ),
    'Last 30 days',
    words.filter(Boolean).join(' '),
    ...changes.map(({ day, device, source, before, after, differenceWh, kind, causes, changedAt }) =>
      row(
        longDay(day),
        nameOf(`${device}.${source}`),
        amount(before?.energyWh),
        amount(after.energyWh),
        amount(differenceWh),
        changeKindWords[kind],
        causes.map((cause) => causeWords[cause]).join(', '),
        at(changedAt),
      ),
    ),
    ...(changes.length > 0 ? [row('Sum', '', '', '', amount(totals.differenceWh), '', '', '')] : []),
  ];
}

/** The page of the configuration. */
export async function configurationLines(id: string, { zone }: Facts): Promise<string[]> {
  const [status, { devices }, { meters }, { sites }, { tokens, total }, { entries }] = await Promise.all([
    ask<PipelineStatus>(`${id}/status`),
    ask<DeviceList>(`${id}/devices`),
    ask<MeterList>(`${id}/meters`),
    ask<SiteList>(`${id}/sites`),
    ask<Tokens>(`${id}/tokens`),
    ask<AuditEntries>(`${id}/audit`),
  ]);
  const nameOf = (device: string) => devices.find((one) => one.id === device)?.name ?? device.slice(0, 8);
  const roles = devices.flatMap((device) => device.sources.map((source) => ({ ...source, id: device.id })));
  const without = devices.filter(({ sources }) =>
    sources.every(({ role, negativeRole }) => role === null && negativeRole === null),
  ).length;
  const outside = `${many(without, 'device')} ${without === 1 ? 'has' : 'have'} no role, so the balance does not contain ${without === 1 ? 'it' : 'them'}.`;
  const active = tokens.filter(({ state }) => state === 'active').length;
  return [
    ...status.problems.map(({ path, message }) => row(path, sentence(message))),
    `Days are those of ${zone}. ${many(devices.length, 'device')}, ${many(meters.length, 'meter')}, ${many(sites.length, 'site')}.${without > 0 ? ` ${outside}` : ''}`,
    `Devices and the roles of their sources (${roles.length})`,
    ...roles.map((one) =>
      row(nameOf(one.id), one.source, spaced(one.role ?? 'none'), spaced(one.negativeRole ?? ''), 'always'),
    ),
    `Meters (${meters.length})`,
    ...meters.map(({ code, name, device, source, sites: names }) =>
      row(
        code,
        name ?? '',
        device === null ? 'uploads' : [nameOf(device), source].filter(Boolean).join(' · '),
        names.join(', '),
      ),
    ),
    `Sites (${sites.length})`,
    ...sites.map(({ name, meters: codes, devices: members }) =>
      row(name, codes.join(', '), members.map((one) => one.name ?? one.id.slice(0, 8)).join(', ')),
    ),
    tokens.length > 0
      ? `${count(active)} of ${many(total, 'token')} can be used. A token itself is stored nowhere, so it cannot be shown.`
      : '',
    ...tokens.map(
      ({ id: token, subject, state, permissions, deviceGroups, issuedAt, expiresAt, revokedAt }) =>
        row(
          subject,
          state,
          permissions.join(', '),
          deviceGroups?.join(', ') ?? 'all',
          at(issuedAt),
          at(revokedAt ?? expiresAt),
          token,
        ),
    ),
    entries.length > 0
      ? `The newest ${many(entries.length, 'entry', 'entries')} of the audit log, newest first. New entries are added, and none is ever changed.`
      : '',
    ...entries.slice(0, 50).map(({ at: time, actor, action, target, data }) =>
      row(
        at(time),
        actor?.replace(/^token:\S+ /, '').replace(/^local:/, '') ?? '–',
        action?.replaceAll(/[._]/g, ' ') ?? '–',
        target ?? '–',
        Object.entries(data ?? {})
          .filter(([name]) => name !== 'entry')
          .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
          .join(', '),
      ),
    ),
    entries.length > 50 ? `1 – 50 of ${count(entries.length)}` : '',
  ];
}
