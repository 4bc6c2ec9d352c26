// A reader that looks at the lake again and again and prints a line for each generation that it found to be
// as its commit says.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DuckDBInstance, listValue } from '@duckdb/node-api';
import { listSequences, readCommit, readCurrent } from '../../src/publish/lake-commit.ts';
import { analyticsPath, filePath, lakePaths, treePath } from '../../src/publish/lake-layout.ts';
import { analyse, rows, WORKGROUP } from './publish-fixture.ts';

const [lakeDir] = process.argv.slice(2);
if (!lakeDir) throw new Error('usage: read-forever.ts <lakeDir>');
const paths = lakePaths(lakeDir, WORKGROUP);
const connection = await (await DuckDBInstance.create(':memory:')).connect();
let last = 0;
let lastCurrent = 0;
process.stdout.write('ready\n');

for (;;) {
  await sleep(5);
  await checkHead();
  await checkCurrent();
}

/** What reports read: the files of the newest commit. */
async function checkHead(): Promise<void> {
  const sequence = (await listSequences(paths)).at(-1);
  if (sequence === undefined) {
    if (last > 0) throw new Error('the commits have gone');
    return;
  }
  if (sequence < last) throw new Error(`the head went back from ${last} to ${sequence}`);
  const commit = await readCommit(paths, sequence);
  if (!commit) throw new Error(`the commit ${sequence} has gone`);
  const files = (dataset: string) =>
    listValue(commit.files.filter((file) => file.dataset === dataset).map((file) => filePath(paths, file)));
  const found = await rows(
    connection,
    `SELECT
       (SELECT count(*)::INTEGER FROM read_parquet($messages)),
       (SELECT count(DISTINCT stream_offset)::INTEGER FROM read_parquet($messages)),
       (SELECT sum(energy_wh)::INTEGER FROM read_parquet($days)),
       (SELECT sum(energy_wh)::INTEGER FROM read_parquet($intervals))`,
    { messages: files('messages'), days: files('daily_energy'), intervals: files('interval_energy') },
  );
  const { messages, dailyEnergyWh } = commit.totals;
  expectSame(`the files of ${sequence}`, found, [messages, messages, dailyEnergyWh, dailyEnergyWh]);
  if (sequence > last) process.stdout.write(`${sequence}\n`);
  last = sequence;
}

/** What people read: the views and the folders of `current`. */
async function checkCurrent(): Promise<void> {
  const sequence = await readCurrent(paths);
  if (sequence === undefined) {
    if (lastCurrent > 0) throw new Error('current has gone');
    return;
  }
  if (sequence < lastCurrent) throw new Error(`current went back from ${lastCurrent} to ${sequence}`);
  lastCurrent = sequence;
  const commit = await readCommit(paths, sequence);
  if (!commit) throw new Error(`current is ${sequence}, which has no commit`);
  const wanted = [commit.totals.messages, commit.totals.dailyEnergyWh];
  expectSame(
    `the views of ${sequence}`,
    await analyse(
      analyticsPath(paths, sequence),
      'SELECT (SELECT count(*)::INTEGER FROM messages), (SELECT sum(energy_wh)::INTEGER FROM daily_energy)',
    ),
    wanted,
  );
  const tree = treePath(paths, sequence);
  const found = await rows(
    connection,
    `SELECT (SELECT count(*)::INTEGER FROM read_parquet('${tree}/messages/*/*/*.parquet')),
       (SELECT sum(energy_wh)::INTEGER FROM read_parquet('${tree}/daily_energy/*/*.parquet'))`,
  ).catch((error: unknown) => error);
  // A tree is renamed before it is changed.
  if (existsSync(tree)) expectSame(`the tree of ${sequence}`, found, wanted);
}

function expectSame(what: string, found: unknown, wanted: unknown[]): void {
  if (JSON.stringify(found) === JSON.stringify([wanted])) return;
  throw new Error(
    `${what} hold ${found instanceof Error ? found : JSON.stringify(found)}, the commit says ${JSON.stringify(wanted)}`,
  );
}
