import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { type EnergyStream, modulusWhOf } from '../config/energy-stream.ts';
import type { Problem } from '../lib/errors.ts';
import { jsonPointer } from '../lib/json-pointer.ts';
import { query } from '../warehouse/query.ts';
import { deviceProblems } from './device-problems.ts';
import { listed, quotedNames } from './problem-words.ts';
import { readingProblems } from './reading-problems.ts';
import { searchLimits } from './search-limits.ts';
import { setAsideProblems } from './set-aside-problems.ts';
import { sourceProblems } from './source-problems.ts';

/**
 * Finds contradictions between data and configuration: tables, fields, devices and sources that never come,
 * streams without a usable reading, and registers with impossible values. Reads only summaries of all
 * readings, and the newest messages.
 * @returns problems with what to change, by their path below the workgroup
 */
export async function findProblems(
  connection: DuckDBConnection,
  workgroup: WorkgroupConfig,
): Promise<Problem[]> {
  const rejected = await query<Rejected>(connection, 'problems/find_rejected', {
    rows_max: searchLimits.rowsMax,
  });
  const known = await query<KnownStream>(connection, 'problems/find_streams', {
    newest_ms: searchLimits.monthMs,
  });
  const problems: Problem[] = await setAsideProblems(connection);
  for (const { position, series_count, highest_wh } of known) {
    const stream = workgroup.energyStreams[position];
    if (!stream) continue;
    const own = rejected.filter(
      ({ table_name, field }) => field === stream.field && (table_name ?? stream.table) === stream.table,
    );
    const at = (problem: Problem): Problem => ({
      path: `energyStreams.${position}.${problem.path}`,
      message: problem.message,
    });
    const silent = series_count === 0 ? await silentProblem(connection, stream, own) : undefined;
    if (silent) problems.push(at(silent));
    if (series_count > 0) problems.push(...own.map((one) => at(rejectedProblem(one))));
    problems.push(...beyondModulus(stream, highest_wh).map(at));
  }
  problems.push(...(await sourceProblems(connection, workgroup)));
  problems.push(...(await readingProblems(connection, workgroup)));
  problems.push(...(await deviceProblems(connection, workgroup)));
  return problems.slice(0, PROBLEMS_MAX);
}

/** Limits the list if a thousand devices have the same fault. */
const PROBLEMS_MAX = 100;
/** Units that one problem names. */
const UNITS_MAX = 5n;

type KnownStream = { position: number; series_count: number; highest_wh: number | null };
type Rejected = {
  table_name: string | null;
  field: string;
  device: string;
  source: string;
  reason: string;
  readings: number;
  text: string | null;
};

/** The reason why a stream has no valid reading. Undefined if nothing was received yet. */
async function silentProblem(
  connection: DuckDBConnection,
  stream: EnergyStream,
  rejected: readonly Rejected[],
): Promise<Problem | undefined> {
  const { table, field } = stream;
  const tables = await query<{ table_name: string; messages: number }>(connection, 'problems/find_tables', {
    table,
  });
  if (tables.length === 0) return undefined;
  const own = tables.find(({ table_name }) => table_name === table);
  if (!own) {
    const names = tables.map(({ table_name }) => table_name);
    return {
      path: 'table',
      message: `table "${table}" has never had a message; tables with messages are ${quotedNames(names)}: correct the name, or remove the stream`,
    };
  }
  const first = rejected[0];
  if (first) {
    const readings = rejected.reduce((sum, one) => sum + one.readings, 0);
    return {
      path: first.reason === 'unknown_unit' ? 'unitField' : 'field',
      message: `${allRejected(readings, `${table}.${field}`, first.reason)}: ${await advice(connection, stream, first)}`,
    };
  }
  const fields = await query<{ field: string }>(connection, 'problems/find_fields', {
    table,
    field,
    messages_max: searchLimits.messagesMax,
  });
  const names = fields.map((one) => one.field);
  if (names.includes(field)) return undefined;
  return {
    path: 'field',
    message: `no message of table "${table}" has a field "${field}"; its fields are ${quotedNames(names)}: correct the name, or remove the stream`,
  };
}

async function advice(
  connection: DuckDBConnection,
  { table, unit, unitField, method }: EnergyStream,
  { reason, text }: Rejected,
): Promise<string> {
  const example = text === null ? '' : ` (such as "${text.slice(0, 40)}")`;
  switch (reason) {
    case 'unknown_unit': {
      const pointer = jsonPointer([unitField ?? '']);
      const units = await query<{ unit: string }>(connection, 'problems/find_units', {
        table,
        unit_pointer: pointer,
        messages_max: searchLimits.messagesMax,
        units_max: UNITS_MAX,
      });
      const names = units.map((one) => `"${one.unit}"`);
      return `${unitField} contains ${listed(names)}, which ${method} cannot use; remove unitField and set unit, which is now ${unit}`;
    }
    case 'negative':
      return `a lifetime register cannot be less than 0${example}; if it may fall, write register: net`;
    case 'not_a_number':
      return `they are text${example}; choose a field with numbers`;
    case 'sentinel':
      return `devices use these values for "unknown"${example}; choose another field, or set modulus if they are real values`;
    case 'future':
    case 'clock_not_set':
      return 'set the clock of the device';
    default:
      return `see the samples in the view rejected_reading${example}`;
  }
}

function rejectedProblem({ device, source, reason, readings, text }: Rejected): Problem {
  const example = text === null ? '' : `, such as "${text.slice(0, 40)}"`;
  return {
    path: 'field',
    message: `${allRejected(readings, `device ${device}, source ${source}`, reason)}${example}: correct the device, or add a stream for it`,
  };
}

function allRejected(readings: number, of: string, reason: string): string {
  const subject = readings === 1 ? `the only reading of ${of} is` : `all ${readings} readings of ${of} are`;
  return `${subject} rejected (${reason})`;
}

function beyondModulus(stream: EnergyStream, highestWh: number | null): Problem[] {
  const modulusWh = modulusWhOf(stream);
  if (modulusWh === undefined || highestWh === null || highestWh <= modulusWh) return [];
  return [
    {
      path: 'modulus',
      message: `the register has shown ${highestWh} Wh, and modulus ${stream.modulus} ${stream.unit} is ${modulusWh} Wh: set modulus to the size of the register in the unit of the field, or remove it`,
    },
  ];
}
