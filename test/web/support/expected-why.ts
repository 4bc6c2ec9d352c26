import type { DeviceStatuses, Explained } from '../../../src/web/facts/answers.ts';
import { flagName } from '../../../src/web/words/flag-words.ts';
import { amount, row } from './expected-figure.ts';
import { sorted } from './expected-flags.ts';
import { ask } from './open-page.ts';
import { type Facts, namerOf } from './page-facts.ts';
import { clock, count, dayTime, exact, longDay, many } from './plain-words.ts';

const plain = (value: number) => value.toLocaleString('en-GB', { maximumFractionDigits: 3 });

/** The page of an explanation of a device with one source, which is read from a register. */
export async function whyLines(id: string, device: string, day: string, { zone }: Facts): Promise<string[]> {
  const [explained, statuses] = await Promise.all([
    ask<Explained>(`${id}/daily-energy/explain?device=${device}&day=${day}`),
    ask<DeviceStatuses>(`${id}/device-status`),
  ]);
  const source = explained.sources[0]!;
  const { result, flags, coverage, readings, segments, streams, versions, events, sum } = source;
  const told = new Set(flags.map(({ reason }) => reason));
  const at = (instant: string) => clock(instant, zone, true);
  const flagTexts = (names: readonly string[]) =>
    names.length === 0 ? 'none' : sorted(names).map(flagName).join('');
  const used = readings.filter(({ fate }) => fate === 'used').length;
  const unused = readings.length - used;
  const others = unused > 0 ? `, ${many(unused, 'reading')} ${unused === 1 ? 'does' : 'do'} not` : '';
  return [
    longDay(day),
    row(namerOf(statuses)(device), '', exact(result!.energyWh)),
    amount(result!.energyWh),
    row(
      'Status',
      `${result!.status}, version ${result!.version}`,
      `computed ${dayTime(result!.computedAt, zone)}`,
    ),
    row('Measured', `{${result!.coverage}} of the day`, ...(told.has(coverage.text) ? [] : [coverage.text])),
    ...flags.map(({ flag, reason, meaning }) => `${flagName(flag)}: ${reason || meaning}`),
    `${many(used, 'reading')} ${used === 1 ? 'counts' : 'count'}${others}. The line is the register; the energy is its growth.`,
    ...events.filter(({ text }) => !told.has(text)).map(({ kind, text }) => `${flagName(kind)}: ${text}`),
    ...events.filter(({ kind }) => kind !== 'midnight').map(({ text }) => text),
    ...source.intervals.map(({ start, energyWh }) => `${clock(start, zone)}: ${exact(energyWh)}`),
    sum.text,
    ...segments.map(({ from, to, fromWh, toWh, energyWh, begins }) =>
      row(
        `${at(from)} – ${to === explained.end ? '24:00:00' : at(to)}`,
        plain(fromWh),
        plain(toWh),
        exact(energyWh),
        flagName(begins),
      ),
    ),
    ...(source.boundaries
      ? [`The day begins: ${source.boundaries.start.text}. It ends: ${source.boundaries.end.text}.`]
      : []),
    `All readings (${count(readings.length)})`,
    ...readings.flatMap(({ time, value, text, fate, reason }) => [
      row(
        `${dayTime(time, zone).split(', ')[0]}, ${at(time)}`,
        value === null ? (text ?? '–') : plain(value),
        fate,
        reason ?? '',
        '',
      ),
      ...(fate === 'excluded' || fate === 'rejected' ? [] : [`Leave out the reading of ${at(time)}`]),
    ]),
    `Fields that could measure it, and why this one (${streams.length})`,
    ...streams.map((one) =>
      row(
        `${one.table}.${one.field}`,
        one.method.replaceAll('_', ' '),
        one.unit,
        amount(one.energyWh),
        amount(one.coverage),
        one.chosen ? 'yes' : 'no',
        one.reason,
      ),
    ),
    `Versions (${versions.length})`,
    ...versions.map((one) =>
      row(
        String(one.version),
        one.energyWh === null ? 'none' : exact(one.energyWh),
        dayTime(one.computedAt, zone),
        flagTexts(one.flags),
        one.text,
      ),
    ),
  ];
}
