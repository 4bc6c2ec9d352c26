// A reader that looks at the lake again and again and prints a line for each generation that it found to be as its commit says.
import { setTimeout as sleep } from 'node:timers/promises';
import { DuckDBInstance, listValue } from '@duckdb/node-api';
import { readCommit, readCurrent } from '../../src/publish/lake-commit.ts';
import { filePath, generationPath, lakePaths } from '../../src/publish/lake-layout.ts';
import { analyse, rows, WORKGROUP } from './support.ts';

const [lakeDir] = process.argv.slice(2);
if (!lakeDir) throw new Error('usage: read-forever.ts <lakeDir>');
const paths = lakePaths(lakeDir, WORKGROUP);
const connection = await (await DuckDBInstance.create(':memory:')).connect();
let last = 0;
process.stdout.write('ready\n');

for (;;) {
  await sleep(5);
  const sequence = await readCurrent(paths);
  if (sequence === undefined) {
    if (last > 0) throw new Error('current has gone');
    continue;
  }
  if (sequence < last) throw new Error(`current went back from ${last} to ${sequence}`);
  const commit = await readCommit(paths, sequence);
  if (!commit) throw new Error(`current is ${sequence}, which has no commit`);
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
  const wanted = [[messages, messages, dailyEnergyWh, dailyEnergyWh]];
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(
      `generation ${sequence} holds ${JSON.stringify(found)}, its commit says ${JSON.stringify(wanted)}`,
    );
  }
  const seen = await analyse(
    generationPath(paths, sequence),
    'SELECT (SELECT count(*)::INTEGER FROM messages), (SELECT sum(energy_wh)::INTEGER FROM daily_energy)',
  );
  if (JSON.stringify(seen) !== JSON.stringify([[messages, dailyEnergyWh]])) {
    throw new Error(`the views of generation ${sequence} show ${JSON.stringify(seen)}`);
  }
  if (sequence > last) process.stdout.write(`${sequence}\n`);
  last = sequence;
}
