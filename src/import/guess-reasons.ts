import type { WorkgroupConfig } from '../config/config.ts';
import type { Heading } from '../foreign-table/find-heading.ts';
import { guessTimeFormat } from '../foreign-table/guess-time-format.ts';
import { guessNumberFormat } from '../foreign-table/number-format.ts';
import { shortenText } from '../lib/clip-text.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { listFieldUses, usesAsText } from './field-uses.ts';
import type { Sample } from './guess-mapping.ts';
import { LONE_DEVICE } from './import-devices.ts';
import type { Mapping } from './import-mapping.ts';

/** The reason for a part of a guessed mapping. */
export interface Reason {
  /** Its place in the mapping, such as `time`, `zone`. */
  path: string[];
  why: string;
}

interface Facts {
  sample: Sample;
  heading: Heading | undefined;
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices' | 'energyStreams'>;
  table: string;
}

/** The reasons that a user has to know before using a guess, in the order of the mapping. */
export function reasonsOf(mapping: Mapping, facts: Facts): Reason[] {
  return [
    ...headingReason(facts.heading),
    ...timeReasons(mapping, facts),
    ...deviceReasons(mapping, facts),
    ...fieldReasons(mapping, facts),
    ...numberReasons(mapping, facts),
  ];
}

const TITLES_SHOWN_MAX = 3;
const SHOWN_CHARACTERS_MAX = 40;
/** The roll-up uses this source for readings without a source. */
const NO_SOURCE = 'default';

function headingReason(heading: Heading | undefined): Reason[] {
  if (!heading || heading.skipLines === 0) return [];
  const { titles, skipLines } = heading;
  const titleList = titles.slice(0, TITLES_SHOWN_MAX).map(quoted).join(', ');
  const lines = formatCountOf(skipLines, 'line stands', 'lines stand');
  return [
    {
      path: ['csv', 'skipLines'],
      why: `${lines} above the names of the columns${titleList && `: ${titleList}`}.`,
    },
  ];
}

function timeReasons({ time }: Mapping, { sample, workgroup }: Facts): Reason[] {
  const texts = textsOf(sample, time.column);
  const rival = guessTimeFormat(texts)?.rival;
  const named = time.column.length === 1 ? 'Its values are times' : 'Joined, their values are times';
  return [
    { path: ['time', 'column'], why: `${named}, such as ${quoted(texts[0] ?? '')}.` },
    ...(rival === undefined
      ? []
      : [
          {
            path: ['time', 'format'],
            why: `${quoted(rival)} fits too. With the chosen format the times fall less often.`,
          },
        ]),
    ...(time.zone === undefined
      ? []
      : [
          {
            path: ['time', 'zone'],
            why: `The times have no zone, so the zone of workgroup ${workgroup.id} is used. If the file has another zone, write it, such as Etc/UTC.`,
          },
        ]),
  ];
}

function deviceReasons({ device, source }: Mapping, { workgroup }: Facts): Reason[] {
  const reasons: Reason[] = [];
  const own = workgroup.devices.length;
  if (device.id === undefined) {
    const names = Object.keys(device.names).length;
    reasons.push({
      path: ['device', 'column'],
      why: names > 0 ? 'Its name means a device.' : 'Its values are devices.',
    });
    if (names > 0) {
      reasons.push({
        path: ['device', 'names'],
        why: 'No configured device has these names. Each name gets an id that follows from it. Replace them with the ids of your devices.',
      });
    }
  } else if (device.id === LONE_DEVICE) {
    const known = own === 0 ? 'has no configured devices' : `has ${own} devices, so the device is unknown`;
    reasons.push({
      path: ['device', 'id'],
      why: `No column names a device, and workgroup ${workgroup.id} ${known}. All rows get this id. Replace it with the id or the name of your device.`,
    });
  } else {
    reasons.push({
      path: ['device', 'id'],
      why: `No column names a device. This is the only device of workgroup ${workgroup.id}.`,
    });
  }
  if (source?.column !== undefined)
    reasons.push({ path: ['source', 'column'], why: 'Its name means a source.' });
  return reasons;
}

function fieldReasons({ fields, long, source }: Mapping, { workgroup, table }: Facts): Reason[] {
  const noSource =
    source === undefined
      ? `No column names a source, so all readings have the source "${NO_SOURCE}". For another source write source: { name: roof }. `
      : '';
  if (long) {
    const why = `${noSource}Each row has one value: one column has its name, another one has the value.`;
    return [{ path: ['long'], why }];
  }
  const uses = listFieldUses(table, workgroup.energyStreams);
  const read = Object.entries(fields ?? {}).map(([column, field]) => ({
    path: ['fields', column],
    why: `Read by ${usesAsText(uses.get(field) ?? [])}.`,
  }));
  return [...(noSource ? [{ path: ['fields'], why: noSource.trim() }] : []), ...read];
}

function numberReasons({ decimal }: Mapping, { sample }: Facts): Reason[] {
  if (decimal !== ',') return [];
  const { unclear } = guessNumberFormat(sample.rows.flat().map((text) => text?.trim() ?? ''));
  const doubt =
    unclear === undefined
      ? ''
      : ` ${quoted(unclear)} can be ${unclear.replace(',', '.')} or ${unclear.replace(',', '')}. If it is the second, write decimal: "." and thousands: ",".`;
  return [{ path: ['decimal'], why: `Most numbers have a comma.${doubt}` }];
}

function textsOf({ columns, rows }: Sample, names: readonly string[]): string[] {
  const at = names.map((name) => columns.findIndex((column) => column.name === name));
  return rows
    .map((row) => at.map((index) => row[index]?.trim() ?? '').join(' '))
    .filter((text) => text.trim() !== '');
}

function quoted(text: string): string {
  return JSON.stringify(shortenText(text, SHOWN_CHARACTERS_MAX));
}
