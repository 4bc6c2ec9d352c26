import { Worker } from 'node:worker_threads';
import { createTerminal } from '../../src/service/terminal.ts';

// A thread runs a query that takes DuckDB minutes, as a roll-up of years may. Meanwhile the process is told
// to end at once.
const query = `
  const { DuckDBInstance } = require('@duckdb/node-api');
  DuckDBInstance.create(':memory:').then(async (instance) => {
    const connection = await instance.connect();
    require('node:worker_threads').parentPort.postMessage('asks');
    await connection.run('SELECT count(*) FROM range(1000000000000) AS r(x) WHERE hash(x) % 13 = 1');
  });`;
const terminal = createTerminal(process);
terminal.onEnd((signal) => {
  if (signal !== 'EPIPE') terminal.kill(signal);
});
new Worker(query, { eval: true }).once('message', () =>
  setTimeout(() => process.stdout.write('asks\n'), 200),
);
