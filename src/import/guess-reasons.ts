import type { WorkgroupConfig } from '../config/config.ts';
import type { Heading } from '../foreign-table/find-heading.ts';
import { guessTimeFormat } from '../foreign-table/guess-time-format.ts';
import { guessNumberFormat } from '../foreign-table/number-format.ts';
import { fieldUses, useText } from './field-uses.ts';
import type { Sample } from './guess-mapping.ts';
import { LONE_DEVICE } from './import-devices.ts';
import type { Mapping } from './import-mapping.ts';

/** Why a part of a guessed mapping is so. */
export interface Reason {
  /** Where it stands in the mapping, such as `time`, `zone`. */
  path: string[];
  why: string;
}

interface Facts {
  sample: Sample;
  heading: Heading | undefined;
  workgroup: Pick<WorkgroupConfig, 'id' | 'devices' | 'energyStreams'>;
  table: string;
}

/** What a person has to know of a guess before trusting it, in the order of the mapping. */
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
/** What the roll-up calls the source of readings that name none. */
const NO_SOURCE = 'default';

function headingReason(heading: Heading | undefined): Reason[] {
  if (!heading || heading.skipLines === 0) return [];
  const { titles, skipLines } = heading;
  const shown = titles.slice(0, TITLES_SHOWN_MAX).map(clip).join(', ');
  const lines = skipLines === 1 ? '1 line stands' : `${skipLines} lines stand`;
  return [
    { path: ['csv', 'skipLines'], why: `${lines} above the names of the columns${shown && `: ${shown}`}.` },
  ];
}

function timeReasons({ time }: Mapping, { sample, workgroup }: Facts): Reason[] {
  const texts = textsOf(sample, time.column);
  const rival = guessTimeFormat(texts)?.rival;
  const named = time.column.length === 1 ? 'Its values are times' : 'Joined, their values are times';
  return [
    { path: ['time', 'column'], why: `${named}, such as ${clip(texts[0] ?? '')}.` },
    ...(rival === undefined
      ? []
      : [
          {
            path: ['time', 'format'],
            why: `${clip(rival)} fits too. With this one the times fall less often.`,
          },
        ]),
    ...(time.zone === undefined
      ? []
      : [
          {
            path: ['time', 'zone'],
            why: `The times name no zone: this is the zone of workgroup ${workgroup.id}. Write another where the file has another, such as Etc/UTC.`,
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
      why: names > 0 ? 'Its name tells that it is the device.' : 'Its values tell the device.',
    });
    if (names > 0) {
      reasons.push({
        path: ['device', 'names'],
        why: 'No device of the configuration has these names. Each gets an id that follows from its name; write the ids of yours.',
      });
    }
  } else if (device.id === LONE_DEVICE) {
    const known =
      own === 0
        ? 'has no devices in the configuration'
        : `has ${own} devices, so nobody knows which one it is`;
    reasons.push({
      path: ['device', 'id'],
      why: `No column names a device, and workgroup ${workgroup.id} ${known}: all rows are of one device with this id. Write the id or the name of yours.`,
    });
  } else {
    reasons.push({
      path: ['device', 'id'],
      why: `No column names a device: this is the only device of workgroup ${workgroup.id}.`,
    });
  }
  if (source?.column !== undefined)
    reasons.push({ path: ['source', 'column'], why: 'Its name tells the source.' });
  return reasons;
}

function fieldReasons({ fields, long, source }: Mapping, { workgroup, table }: Facts): Reason[] {
  const noSource =
    source === undefined
      ? `No column names a source, so all readings have the source "${NO_SOURCE}". Write source: { name: roof } for another. `
      : '';
  if (long) {
    const why = `${noSource}Each row has one value: a column names it, another one has it.`;
    return [{ path: ['long'], why }];
  }
  const uses = fieldUses(table, workgroup.energyStreams);
  const read = Object.entries(fields ?? {}).map(([column, field]) => ({
    path: ['fields', column],
    why: `Read by ${useText(uses.get(field) ?? [])}.`,
  }));
  return [...(noSource ? [{ path: ['fields'], why: noSource.trim() }] : []), ...read];
}

function numberReasons({ decimal }: Mapping, { sample }: Facts): Reason[] {
  if (decimal !== ',') return [];
  const { unclear } = guessNumberFormat(sample.rows.flat().map((text) => text?.trim() ?? ''));
  const doubt =
    unclear === undefined
      ? ''
      : ` ${clip(unclear)} can be ${unclear.replace(',', '.')} or ${unclear.replace(',', '')}. If it is the second, write decimal: "." and thousands: ",".`;
  return [{ path: ['decimal'], why: `Most numbers have a comma.${doubt}` }];
}

function textsOf({ columns, rows }: Sample, names: readonly string[]): string[] {
  const at = names.map((name) => columns.findIndex((column) => column.name === name));
  return rows
    .map((row) => at.map((index) => row[index]?.trim() ?? '').join(' '))
    .filter((text) => text.trim() !== '');
}

function clip(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}...` : text);
}
