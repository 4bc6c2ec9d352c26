import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../support/load-config.ts';
import { cliFile } from '../support/process-environment.ts';
import { runCommand } from '../support/run-command.ts';
import { queryLake } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const home = {
  id: 'home',
  timezone: 'Europe/Berlin',
  devices: [{ id: '7c9e6679-7425-40de-944b-e07fc1f90ae7', name: 'garage' }],
};

/** Local times of Berlin, every five minutes from the first of July on. */
function csv(rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    const local = new Date(Date.UTC(2024, 6, 1) + row * 300_000).toISOString().slice(0, 16).replace('T', ' ');
    return `${local};garage;${((100_000 + row * 1_200) / 288).toFixed(4).replace('.', ',')}`;
  });
  return `Zeit;Gerät;Total Wh\n${lines.join('\n')}\n`;
}

test('after Ctrl-C the same command continues the import', async () => {
  // No energy stream reads this table, so that only the landing is looked at.
  const unread = ['--workgroup', 'home', '--table', 'unread'];
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ logLevel: 'silent', workgroups: [home] }));
  // Several batches, so that most of them wait when the first one has landed. They include the hour of March
  // that the clocks of Berlin skip.
  const rows = 160_000;
  const [rowsRejected, rowsLanded] = [12, rows - 12];
  writeFileSync(join(cwd, 'log.csv'), csv(rows));
  const child = spawn(
    process.execPath,
    [cliFile, 'import', 'log.csv', ...unread, '--json', '--log-level', 'debug'],
    {
      cwd,
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
    // The first batch has landed.
    if (!child.killed && errors.includes('land.commit')) child.kill('SIGINT');
  });
  const [code] = await once(child, 'exit');
  expect(code).toBe(3);
  expect(errors).toContain('run the same command again to continue');
  const config = loadConfig({ cwd, environment: {} });
  expect(await queryLake(config, 'home', 'FROM messages')).toBeUndefined();

  const again = await runCommand(['import', 'log.csv', ...unread, '--json'], { cwd });
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout).files).toMatchObject([
    {
      outcome: {
        kind: 'landed',
        resumed: true,
        counts: { rowsLanded, rejected: { no_such_local_time: rowsRejected } },
      },
    },
  ]);
  const messages = await queryLake(
    config,
    'home',
    'SELECT count(*)::DOUBLE AS n, count(DISTINCT event_time)::DOUBLE AS times FROM messages',
  );
  expect(messages).toEqual([{ n: rowsLanded, times: rowsLanded }]);
});
