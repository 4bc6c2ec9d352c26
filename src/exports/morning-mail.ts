import { displayWidth, padDisplayEnd, padDisplayStart } from '../lib/display-width.ts';
import { formatCount } from '../lib/format-count.ts';
import type { LocalDate } from '../lib/time.ts';
import { visibleText } from '../lib/visible-text.ts';
import { attentionLines, nameOfDevice } from './morning-attention.ts';
import { type DeviceWeeks, inPartFlags, type MorningFacts } from './morning-facts.ts';
import { usualWh } from './usual-energy.ts';

interface MorningMail {
  subject: string;
  text: string;
  html: string;
}

/** A table: subject, energy, compared energy, and the difference. */
interface Section {
  title: string;
  comparedWith: string;
  rows: Array<[what: string, energy: string, compared: string, difference: string]>;
}

const DEVICES_SHOWN_MAX = 30;

/**
 * Writes a mail about a day. Unknown energy is called unknown, and is never shown as 0.
 * @param link the address of the page with this day
 * @param notes further lines, such as why a file is not attached
 */
export function writeMorningMail(
  facts: MorningFacts,
  { link, notes = [] }: { link?: string | undefined; notes?: readonly string[] },
): MorningMail {
  const { day, workgroup } = facts;
  const title = `Energy of ${dayInWords(day)}`;
  const sections = [...balanceSections(facts), deviceSection(facts), budgetSection(facts)].filter(
    ({ rows }) => rows.length > 0,
  );
  const attention = attentionLines(facts).map(visibleText);
  const about = [
    ...notes,
    '"usual" is the mean of the same weekday in the four weeks before, or of all days of these weeks if fewer than three of them are known.',
    `Days are those of ${workgroup.timezone}.`,
  ];
  const needed = attention.length > 0 ? attention : ['nothing'];
  return {
    subject: `Energy of ${day}, ${workgroup.id}${attention.length > 0 ? `: ${attention.length} to look at` : ''}`,
    text: [
      `${title}, ${workgroup.id}`,
      ...sections.map(textOfSection),
      ['What needs attention', ...needed.map((line) => `- ${line}`)].join('\n'),
      [...about, ...(link === undefined ? [] : [link])].join('\n'),
    ]
      .join('\n\n')
      .concat('\n'),
    html: [
      '<!doctype html><html lang="en"><body style="font-family: sans-serif">',
      `<h2>${escaped(title)}, ${escaped(workgroup.id)}</h2>`,
      ...sections.map(htmlOfSection),
      `<h3>What needs attention</h3><ul>${needed.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`,
      ...about.map((line) => `<p>${escaped(line)}</p>`),
      ...(link === undefined ? [] : [`<p><a href="${escaped(link)}">${escaped(link)}</a></p>`]),
      '</body></html>',
    ].join('\n'),
  };
}

/** The flows of a balance, in the order of a mail. */
const flows = {
  productionWh: ['production', 'production'],
  consumptionWh: ['consumption', 'consumption'],
  gridImportWh: ['grid import', 'grid_import'],
  gridExportWh: ['grid export', 'grid_export'],
  batteryChargeWh: ['battery charge', 'battery_charge'],
  batteryDischargeWh: ['battery discharge', 'battery_discharge'],
} as const;

function balanceSections({ balances, day }: MorningFacts): Section[] {
  return balances.flatMap((balance) => {
    if ('refusal' in balance) return [];
    const { name, days } = balance;
    const dayBalance = days[day];
    const rows = Object.entries(flows).flatMap(([key, [words, role]]): Section['rows'] => {
      const flow = key as keyof typeof flows;
      const energies = Object.fromEntries(
        Object.entries(days).map(([at, found]) => [at, found[flow] ?? null]),
      );
      const isMeasured = Object.values(days).some(({ parts }) => parts.some((part) => part.role === role));
      // A role that the site does not have gets no row. If the energy of this day is not known, the row is
      // still shown.
      if (!isMeasured && Object.values(energies).every((wh) => (wh ?? 0) === 0)) return [];
      return [compared(words, energies[day] ?? null, usualWh(energies, day))];
    });
    const autarky = dayBalance?.autarky ?? null;
    if (autarky !== null) rows.push(['autarky', `${Math.round(autarky * 100)} %`, '', '']);
    return [{ title: visibleText(name), comparedWith: 'usual', rows }];
  });
}

function deviceSection(facts: MorningFacts): Section {
  const { day, devices, workgroup } = facts;
  const known = new Set(devices.map(({ device }) => device));
  const never = workgroup.devices.filter(({ id }) => !known.has(id));
  const all = [...devices, ...never.map(({ id }) => ({ device: id, energies: {}, flags: [] }))].map(
    ({ device, energies, flags }: Pick<DeviceWeeks, 'device' | 'energies' | 'flags'>) => ({
      name: `${nameOfDevice(facts, device)}${rolesOf(facts, device)}`,
      energyWh: energies[day] ?? null,
      usual: usualWh(energies, day),
      isInPart: flags.some((flag) => inPartFlags.includes(flag)),
    }),
  );
  // Devices with unknown energy come last.
  const rank = ({ energyWh }: { energyWh: number | null }) => energyWh ?? Number.NEGATIVE_INFINITY;
  all.sort((a, b) => rank(b) - rank(a) || (a.name < b.name ? -1 : 1));
  const rows = all
    .slice(0, DEVICES_SHOWN_MAX)
    .map(({ name, energyWh, usual, isInPart }) => compared(visibleText(name), energyWh, usual, isInPart));
  const more = all.length - rows.length;
  if (more > 0) rows.push([`and ${formatCount(more)} more`, '', '', '']);
  return { title: 'Devices', comparedWith: 'usual', rows };
}

function rolesOf({ balances, day }: MorningFacts, device: string): string {
  const parts = balances.flatMap((one) => ('days' in one ? (one.days[day]?.parts ?? []) : []));
  const roles = new Set(parts.filter((part) => part.device === device).map(({ role }) => role));
  return roles.size === 0 ? '' : ` (${[...roles].join(', ').replaceAll('_', ' ')})`;
}

function budgetSection({ budgets }: MorningFacts): Section {
  const rows = budgets.map(({ site, actualWh, budgetWh, partial }) =>
    compared(visibleText(site), actualWh, budgetWh, partial),
  );
  return { title: 'Meters against budget', comparedWith: 'budget', rows };
}

/**
 * @param isInPart true if the energy is known for a part of the day only, so that a difference would say
 *   nothing
 */
function compared(
  what: string,
  energyWh: number | null,
  withWh: number | null,
  isInPart = false,
): Section['rows'][number] {
  const difference =
    isInPart && energyWh !== null
      ? 'known in part'
      : energyWh === null || withWh === null || withWh === 0
        ? ''
        : percent(Math.round(((energyWh - withWh) / Math.abs(withWh)) * 100));
  return [what, kWh(energyWh), kWh(withWh), difference];
}

function percent(share: number): string {
  const sign = share === 0 ? '' : share > 0 ? '+' : '−';
  return `${sign}${formatCount(Math.abs(share))} %`;
}

function kWh(energyWh: number | null): string {
  if (energyWh === null) return 'unknown';
  return `${(energyWh / 1_000).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })} kWh`;
}

function textOfSection({ title, comparedWith, rows }: Section): string {
  const table = [
    [title, 'energy', comparedWith, ''],
    ...rows.map(([what, ...cells]) => [`  ${what}`, ...cells]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => displayWidth(row[column]!))));
  return table
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? padDisplayEnd : padDisplayStart)(cell, widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function htmlOfSection({ title, comparedWith, rows }: Section): string {
  const cells = (tag: 'td' | 'th', row: readonly string[]) =>
    row
      .map((cell, column) => `<${tag} align="${column === 0 ? 'left' : 'right'}">${escaped(cell)}</${tag}>`)
      .join('');
  const lines = rows.map((row) => `<tr>${cells('td', row)}</tr>`);
  return `<table cellpadding="3"><tr>${cells('th', [title, 'energy', comparedWith, ''])}</tr>${lines.join('')}</table>`;
}

function dayInWords(day: LocalDate): string {
  const format = {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  } as const;
  return new Intl.DateTimeFormat('en-GB', format).format(new Date(`${day}T00:00:00Z`));
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
