import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ExpectedDay, readExpected } from '../../src/cli/replay/expected-days.ts';
import { type ReplayCase, readCases } from '../../src/cli/replay/read-cases.ts';
import { errorMessage, InputError } from '../../src/lib/errors.ts';
import { isThere } from '../../src/lib/is-there.ts';

export interface Recording {
  replay: ReplayCase;
  /** Undefined if the true energy is not known. Then nothing is compared. */
  expected: ExpectedDay[] | undefined;
}

/**
 * The cases of the folders below a folder, or of the folder itself, in the order of their names.
 * @throws InputError that says what is wrong, and where
 */
export async function readRecordings(folder: string): Promise<Recording[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    throw new InputError(folder, [{ path: '', message: `cannot be read: ${errorMessage(error)}` }]);
  });
  const folders = names.includes('case.json') ? [folder] : names.sort().map((name) => join(folder, name));
  const recordings: Recording[] = [];
  for (const one of folders) {
    if (!(await isThere(join(one, 'case.json')))) continue;
    const [replay] = (await readCases(one)).readings;
    recordings.push({ replay: replay!, expected: await readExpected(join(one, 'expected.csv')) });
  }
  if (recordings.length === 0)
    throw new InputError(folder, [{ path: '', message: 'has no case: no folder in it has a case.json' }]);
  const twice = recordings.find(
    ({ replay }, index) => recordings.findIndex((other) => other.replay.name === replay.name) !== index,
  );
  if (twice)
    throw new InputError(folder, [
      { path: '', message: `has two cases with the name "${twice.replay.name}"` },
    ]);
  return recordings;
}
