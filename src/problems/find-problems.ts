import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { type EnergyStream, modulusWhOf } from '../config/energy-stream.ts';
import type { Problem } from '../lib/errors.ts';
import { jsonPointer } from '../lib/json-pointer.ts';
import { query } from '../warehouse/query.ts';
import { deviceProblems } from './device-problems.ts';
import { listed, nearest } from './problem-words.ts';
import { readingProblems } from './reading-problems.ts';
import { setAsideProblems } from './set-aside-problems.ts';
import { sourceProblems } from './source-problems.ts';

/**
 * What the data say against the configuration: tables, fields, devices and sources that never come, streams of which nothing can be used,
 * registers that cannot be what they are said to be. Reads only what is stored of all readings together, and the newest messages.
 * @returns the problems, each by its path below the workgroup, with what to change
 */
export async function findProblems(
  connection: DuckDBConnection,
  workgroup: WorkgroupConfig,
): Promise<Problem[]> {
  const rejected = await query<Rejected>(connection, 'problems/find_rejected');
  const known = await query<KnownStream>(connection, 'problems/find_streams');
  const problems: Problem[] = await setAsideProblems(connection);
  for (const { position, series_count, highest_wh } of known) {
    const stream = workgroup.energyStreams[position];
    if (!stream) continue;
    const own = rejected.filter(({ field }) => field === stream.field);
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

/** A thousand devices with the same fault are not told one by one. */
const PROBLEMS_MAX = 100;

type KnownStream = { position: number; series_count: number; highest_wh: number | null };
type Rejected = {
  field: string;
  device: string;
  source: string;
  reason: string;
  readings: number;
  text: string | null;
};

/** Why a stream has not one valid reading; undefined where nothing has been received that could say so. */
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
      message: `no message of table "${table}" has come; there are ${nearest(names)}: correct the name, or remove the stream`,
    };
  }
  const first = rejected[0];
  if (first) {
    const readings = rejected.reduce((sum, one) => sum + one.readings, 0);
    return {
      path: first.reason === 'unknown_unit' ? 'unitField' : 'field',
      message: `all ${readings} readings of ${table}.${field} are rejected, as ${first.reason}: ${await advice(connection, stream, first)}`,
    };
  }
  const fields = await query<{ field: string }>(connection, 'problems/find_fields', { table, field });
  const names = fields.map((one) => one.field);
  if (names.includes(field)) return undefined;
  return {
    path: 'field',
    message: `no message of table "${table}" has a field "${field}"; there are ${nearest(names)}: correct the name, or remove the stream`,
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
      });
      const names = units.map((one) => `"${one.unit}"`);
      return `${unitField} says ${listed(names)}, which ${method} cannot use; remove unitField and write the unit in unit, which is ${unit} now`;
    }
    case 'negative':
      return `a lifetime register cannot be less than 0${example}; where it may fall, write register: net`;
    case 'not_a_number':
      return `they are text${example}; choose a field that is a number`;
    case 'sentinel':
      return `they are what devices show where they know nothing${example}; choose another field, or write modulus where it is a value`;
    case 'future':
    case 'clock_not_set':
      return 'set the clock of the device';
    default:
      return `look at samples in the view rejected_reading${example}`;
  }
}

function rejectedProblem({ device, source, reason, readings, text }: Rejected): Problem {
  const example = text === null ? '' : `, such as "${text.slice(0, 40)}"`;
  return {
    path: 'field',
    message: `all ${readings} readings of device ${device}, source ${source} are rejected, as ${reason}${example}: correct what the device sends, or give it a stream of its own`,
  };
}

function beyondModulus(stream: EnergyStream, highestWh: number | null): Problem[] {
  const modulusWh = modulusWhOf(stream);
  if (modulusWh === undefined || highestWh === null || highestWh <= modulusWh) return [];
  return [
    {
      path: 'modulus',
      message: `the register has shown ${highestWh} Wh, and modulus ${stream.modulus} ${stream.unit} is ${modulusWh} Wh: write the size that it has, in the unit of the field, or remove it`,
    },
  ];
}
