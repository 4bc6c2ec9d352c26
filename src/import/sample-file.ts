import { isObject } from '../lib/is-object.ts';
import { jsonPointer } from '../lib/json-pointer.ts';
import { guessEncoding } from './first-bytes.ts';
import type { Sample } from './guess-mapping.ts';
import { type Mapping, mappingSchema } from './import-mapping.ts';
import { fileProblem, type Reader, unreadable } from './open-reader.ts';
import { jsonObjects, OPENED_DEPTH_MAX, openSource } from './source-file.ts';

/** A week of rows every five minutes. The time, the numbers and the devices are guessed from them. */
const SAMPLE_ROWS = 2_000;
/** Members are looked for in the first objects. In a log, each device has sent an object by then. */
const OBJECTS_MAX = 200;
/** Each member becomes a column of the sample. Objects with keys of many devices would have thousands. */
const MEMBERS_MAX = 500;

/**
 * Reads the first rows of a file.
 * @param given settings of a CSV file that are already known
 * @throws InputError if the file cannot be read or is empty
 */
export async function sampleFile(reader: Reader, given: Partial<Mapping['csv']> = {}): Promise<Sample> {
  const { format, compression } = reader.kind;
  const encoding = format === 'csv' ? await guessEncoding(reader.path, compression) : undefined;
  const csv = mappingSchema.shape.csv.parse({ encoding, ...given });
  let source = await openSource(reader, { format: undefined, csv }, []);
  if (source.format === 'ndjson') {
    source = await openSource(reader, { format: 'ndjson', csv }, await findMembers(reader));
  }
  const cells = source.columns.map((_, index) => `c${index}::VARCHAR`);
  if (cells.length === 0) throw fileProblem(reader.path, 'has no JSON object');
  try {
    const result = await reader.connection.runAndReadAll(
      `SELECT ${cells.join(', ')} FROM ${source.from} WHERE broken IS NULL LIMIT ${SAMPLE_ROWS}`,
    );
    const rows = result.getRows() as Sample['rows'];
    if (rows.length === 0) throw fileProblem(reader.path, 'has no readable row below its heading');
    return {
      format: source.format,
      columns: source.columns,
      ...(source.csv && { csv: source.csv }),
      rows,
    };
  } catch (error) {
    throw unreadable(reader.path, error);
  }
}

/** The members of the first objects. Members of objects in them are named by their path. */
async function findMembers(reader: Reader): Promise<string[]> {
  const { connection, path } = reader;
  const result = await connection
    .runAndReadAll(
      `SELECT json::VARCHAR FROM ${await jsonObjects(reader)} WHERE broken IS NULL LIMIT ${OBJECTS_MAX}`,
    )
    .catch((error: unknown) => {
      throw unreadable(path, error);
    });
  const pointers = new Set<string>();
  for (const [text] of result.getRows()) collect(JSON.parse(String(text)), [], pointers);
  return [...pointers].slice(0, MEMBERS_MAX);
}

function collect(value: object, parents: readonly string[], pointers: Set<string>): void {
  for (const [name, member] of Object.entries(value)) {
    const names = [...parents, name];
    if (isObject(member) && parents.length < OPENED_DEPTH_MAX) collect(member, names, pointers);
    else pointers.add(names.length === 1 && !name.startsWith('/') ? name : jsonPointer(names));
  }
}
