import type { WorkgroupConfig } from '../config/config.ts';
import { findHeading, type Heading } from '../foreign-table/find-heading.ts';
import { detectEncoding } from '../foreign-table/text-encoding.ts';
import { InputError } from '../lib/errors.ts';
import { firstBytes } from './first-bytes.ts';
import { guessMapping, type Sample } from './guess-mapping.ts';
import { type Reason, reasonsOf } from './guess-reasons.ts';
import type { Mapping } from './import-mapping.ts';
import type { Reader } from './open-reader.ts';
import { sampleFile } from './sample-file.ts';

/** The guessed meaning of the columns of a file, with reasons. */
export interface Guess {
  mapping: Mapping;
  reasons: Reason[];
}

type GuessedWorkgroup = Pick<WorkgroupConfig, 'id' | 'devices' | 'timezone' | 'energyStreams'>;

/** @throws InputError if the meaning cannot be guessed, or the file cannot be read */
export async function guessFile(reader: Reader, workgroup: GuessedWorkgroup, table: string): Promise<Guess> {
  const heading = await headingOf(reader);
  const sample = await sampleBelow(reader, heading);
  const mapping = guessMapping(reader.path, sample, workgroup, table);
  return { mapping, reasons: reasonsOf(mapping, { sample, heading, workgroup, table }) };
}

/** The rows below the heading. If the heading does not fit, DuckDB's own guess. */
async function sampleBelow(reader: Reader, heading: Heading | undefined): Promise<Sample> {
  if (!heading) return sampleFile(reader);
  const { delimiter, skipLines } = heading;
  try {
    return await sampleFile(reader, { delimiter, skipLines, header: true });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return sampleFile(reader);
  }
}

async function headingOf({ path, kind }: Reader): Promise<Heading | undefined> {
  if (kind.format !== 'csv') return undefined;
  const bytes = await firstBytes(path, kind.compression);
  const encoding = detectEncoding(bytes);
  return encoding && findHeading(new TextDecoder(encoding).decode(bytes));
}
