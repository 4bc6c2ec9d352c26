import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { errorMessage, InputError } from '../src/lib/errors.ts';
import type { Ratio } from './decode.ts';
import { truthHelp } from './option-helps.ts';
import { writeCase } from './truth/case-folder.ts';
import { faults } from './truth/faults/all.ts';
import { isolate } from './truth/isolate.ts';
import { createRecording, faultsOf, groupOfRecording, type Recording } from './truth/recording.ts';
import { rollUpTogether } from './truth/roll-up.ts';
import { type ScoredRecording, scoreRecording } from './truth/score.ts';
import { daysCsv, describeScores, describeWorst, goodShare, honestShare } from './truth/tables.ts';

const options = {
  count: { type: 'string', default: '450' },
  seed: { type: 'string', default: '1' },
  fault: { type: 'string' },
  worst: { type: 'string' },
  days: { type: 'string' },
  'by-day': { type: 'boolean', default: false },
  recording: { type: 'string' },
  into: { type: 'string', default: '.' },
} as const;

/**
 * Measures how often the energy rules are right. Recordings of one zone and season share a warehouse.
 * @param args the options of `truthHelp`
 * @throws InputError for options that cannot be understood
 */
export async function benchTruth(print: (line: string) => void, args: readonly string[]): Promise<Ratio[]> {
  const values = readOptions(args);
  const seed = wholeNumber('seed', values.seed);
  if (values.recording !== undefined) {
    // The number alone names a recording. The words after it only say what is in the recording.
    const number = wholeNumber('recording', values.recording.replace(/-.*$/, ''));
    print(await writeCase(createRecording(seed, number), values.into));
    return [];
  }
  const count = wholeNumber('count', values.count);
  const numbers = Array.from({ length: count }, (_, number) => number).filter(
    (number) => values.fault === undefined || hasFault(seed, number, values.fault),
  );
  const startMs = performance.now();
  const scored = await scoreAll(seed, numbers, { byDay: values['by-day'] });
  printLines(print, describeScores(scored));
  if (values.worst !== undefined)
    printLines(print, describeWorst(scored, wholeNumber('worst', values.worst)));
  if (values.days !== undefined) writeFileSync(values.days, daysCsv(scored));
  print(`seed ${seed}, ${scored.length} recordings, ${((performance.now() - startMs) / 1_000).toFixed(0)} s`);
  return [
    { name: 'energy rules: days as right as they can be', ratio: goodShare(scored), ratioMin: 0.97 },
    {
      name: 'energy rules: days that are right or say doubt',
      ratio: honestShare(scored),
      ratioMin: 0.99,
    },
  ];
}

/** Rolls recordings up, group by group, so that few are in memory at a time. */
async function scoreAll(
  seed: number,
  numbers: readonly number[],
  options: { byDay: boolean },
): Promise<ScoredRecording[]> {
  const groups = Map.groupBy(numbers, (number) => groupOfRecording(seed, number));
  const scored = new Map<number, ScoredRecording>();
  for (const group of groups.values()) {
    const recordings = group.map((number): Recording => createRecording(seed, number));
    const rolledUp = await isolate(recordings, (some) => rollUpTogether(some, options));
    for (const [index, recording] of recordings.entries())
      scored.set(recording.number, scoreRecording(recording, rolledUp[index]!));
  }
  return numbers.map((number) => scored.get(number)!);
}

function readOptions(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new InputError('the command', [{ path: '', message: `${errorMessage(error)}\n${truthHelp}` }]);
  }
}

function hasFault(seed: number, number: number, name: string): boolean {
  const known = ['clean', ...faults.map((fault) => fault.name)];
  if (!known.includes(name))
    throw new InputError('--fault', [{ path: name, message: `is not one of ${known.join('; ')}` }]);
  const names = faultsOf(seed, number).map((fault) => fault.name);
  return name === 'clean' ? names.length === 0 : names.includes(name);
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InputError(`--${name}`, [{ path: text, message: 'must be a whole number' }]);
  return Number(text);
}

function printLines(print: (line: string) => void, text: string): void {
  for (const line of text.trimEnd().split('\n')) print(line);
  print('');
}
