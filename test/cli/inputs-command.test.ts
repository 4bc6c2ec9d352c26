import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { InputState } from '../../src/inputs/input-counter.ts';
import { processFacts } from '../../src/lib/process-facts.ts';
import { listProcessFiles, writeProcessFile } from '../../src/worker-rpc/process-file.ts';
import { startProcessServer } from '../../src/worker-rpc/process-server.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

function setUp() {
  const cwd = tempDir();
  const lines = [{ measurement: 'power*', device: '{host}', source: '{phase}' }];
  const workgroup = { id: 'home', devices: [{ id: GARAGE, name: 'garage' }], inputs: { lines } };
  writeFileSync(join(cwd, 'wattline.yaml'), JSON.stringify({ workgroups: [workgroup] }));
  return (...args: string[]) => runCommand(['inputs', ...args], { cwd });
}

test('inputs try shows how a line would be read, or why it would not', async () => {
  const inputs = setUp();
  const read = await inputs(
    'try',
    '--line',
    'power,host=garage,phase=L1 wh=12i 1795000000',
    '--precision',
    's',
  );
  expect([read.code, read.stdout]).toEqual([
    0,
    `lines: a reading
  table     power
  device    ${GARAGE} (garage)
  source    L1
  time      2026-11-18T11:06:40.000Z
  field wh  12
`,
  ]);
  const timeless = await inputs('try', '--line', 'power,host=garage,phase=L1 wh=12i');
  expect(timeless.stdout).toContain('\n  time      when the message arrives\n');
  const asData = await inputs('try', '--line', 'power,host=garage,phase=L1 wh=12i', '--json');
  expect(JSON.parse(asData.stdout)).toMatchObject([
    {
      input: 'lines',
      outcome: { kind: 'reading', hasOwnTime: false, item: { device: GARAGE, data: { wh: 12 } } },
    },
  ]);
  for (const [line, words] of [
    ['power,host=garage wh=12', 'lines: refused: the source has a placeholder without a value'],
    ['power,host=garage', 'lines: refused: missing fields'],
    ['cpu,host=garage idle=1', 'lines: ignored: no rule matches the measurement "cpu"'],
    ['# comment', 'lines: ignored: the line is empty or a comment'],
  ] as const) {
    const { code, stdout } = await inputs('try', '--line', line);
    expect([code, stdout]).toEqual([1, `${words}\n`]);
  }
});

test('inputs says what is missing on the command line, in the configuration, and if nothing runs', async () => {
  const inputs = setUp();
  expect(await inputs('try', '--topic', 'a')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a payload are needed'),
  });
  expect(await inputs('try', '--line', 'a b=1', '--precision', 'day')).toMatchObject({ code: 2 });
  const noBroker = await inputs('try', '--topic', 'a', '--payload', '1');
  expect([noBroker.code, noBroker.stdout]).toEqual([
    1,
    'mqtt: ignored: the workgroup "home" has no inputs.mqtt\n',
  ]);
  expect(await inputs()).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('no stream service runs on'),
  });
});

test('inputs are those of the stream processes, of all workgroups or of one', async () => {
  const cwd = tempDir();
  const dataDir = join(cwd, 'data');
  const ids = ['home', 'plant'];
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    JSON.stringify({ dataDir: './data', workgroups: ids.map((id) => ({ id })) }),
  );
  const input = (workgroupId: string): InputState => ({
    workgroupId,
    input: 'lines',
    kind: 'lines',
    address: '/write',
    connection: 'idle',
    sinceMs: 0,
    disconnects: 0,
    losses: [],
    perMinute: 0,
    received: 0,
    stored: 0,
    repeated: 0,
    retained: 0,
    ignored: 0,
    refused: 0,
  });
  const start = async (role: string, workgroupIds: string[]) => {
    const unasked = () => Promise.reject(new Error('only inputs are asked for'));
    const operations = {
      inputs: async () => workgroupIds.map(input),
      reload: unasked,
      configState: unasked,
    };
    onTestFinished(await startProcessServer({ dataDir, roles: [role], operations }));
  };
  const idsOf = async (...args: string[]) => {
    const { stdout } = await runCommand(['inputs', '--json', ...args], { cwd });
    return (JSON.parse(stdout) as InputState[]).map(({ workgroupId }) => workgroupId);
  };
  await start('worker', ['home']);
  expect((await runCommand(['inputs'], { cwd })).code).toBe(3);
  // A workgroup that was removed from the configuration is not shown.
  await start('stream', [...ids, 'removed']);
  expect(await idsOf()).toEqual(ids);
  expect(await idsOf('--workgroup', 'plant')).toEqual(['plant']);
  const { code, stderr } = await runCommand(['inputs'], { cwd });
  expect([code, stderr]).toEqual([0, expect.stringContaining('no inputs are configured')]);
  const lines = [{ measurement: 'power', device: '{host}' }];
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    JSON.stringify({ dataDir: './data', workgroups: [{ id: 'home', inputs: { lines } }, { id: 'plant' }] }),
  );
  expect((await runCommand(['inputs'], { cwd })).stderr).toBe('');
  expect((await runCommand(['inputs', '--workgroup', 'plant'], { cwd })).stderr).toContain(
    'no inputs are configured',
  );
});

test('inputs fails with exit code 3 and says which process does not answer', async () => {
  const cwd = tempDir();
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    JSON.stringify({ dataDir: './data', workgroups: [{ id: 'home' }] }),
  );
  const stopped = spawn('sleep', ['600']);
  onTestFinished(() => void stopped.kill('SIGKILL'));
  stopped.kill('SIGSTOP');
  await until('the process is stopped', () => processFacts(stopped.pid!)?.isStopped === true);
  const dataDir = join(cwd, 'data');
  writeProcessFile(dataDir, { port: 1, secret: 's'.repeat(32), roles: ['stream'] });
  const [{ path, file }] = listProcessFiles(dataDir) as [ReturnType<typeof listProcessFiles>[0]];
  writeFileSync(path, JSON.stringify({ ...file, pid: stopped.pid }));
  const { code, stderr } = await runCommand(['inputs'], { cwd });
  expect(code).toBe(3);
  expect(stderr).toContain(
    `the stream service (process ${stopped.pid}) does not report the state of its inputs: the data are held by process ${stopped.pid}`,
  );
  expect(stderr).toContain(`continue it with "kill -CONT ${stopped.pid}"`);
});
