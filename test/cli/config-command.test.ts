import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'wattline-cli-'));
});
afterAll(() => rm(cwd, { recursive: true }));

async function check(
  name: string,
  yaml: string,
  options: { args?: string[]; environment?: Record<string, string>; run?: typeof runCli } = {},
) {
  await writeFile(join(cwd, name), yaml);
  const { run = runCommand } = options;
  return run(['config', 'check', '--config', name, ...(options.args ?? [])], {
    cwd,
    ...(options.environment && { environment: options.environment }),
  });
}

const site = `
dataDir: /var/lib/wattline
queue: { backend: redis, redisUrl: "redis://worker:hunter2@queue:6379" }
storage: { shared: true }
stream: { log: redis, redisUrl: "rediss://stream:hunter5@stream:6379/1", redisSentinels: ["redis://:x@hunter6@one"] }
workgroups:
  - id: home
    timezone: Europe/Paris
    energyStreams: [{ table: solar, field: total_wh, method: total_energy }]
    upstream: { url: "https://reader:hunter3@stream.example/", token: "\${UPSTREAM_TOKEN}" }
`;

describe.concurrent('config check', () => {
  test('prints the resolved configuration without secrets, and the print can be read again', {
    tags: ['slow'],
  }, async () => {
    const environment = { UPSTREAM_TOKEN: 'hunter4', WATTLINE_PORT: '9000' };
    const { code, stdout, stderr } = await check('site.yaml', site, { environment, run: runCli });
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/hunter/);
    expect(parse(stdout)).toMatchObject({
      dataDir: '/var/lib/wattline',
      http: { port: 9000, host: '127.0.0.1' },
      queue: { redisUrl: 'redis://[secret]@queue:6379' },
      stream: {
        redisUrl: 'rediss://[secret]@stream:6379/1',
        redisSentinels: ['redis://[secret]@one'],
      },
      pipeline: { pollEvery: '1s' },
      workgroups: [
        {
          id: 'home',
          upstream: { url: 'https://[secret]@stream.example/', token: '[secret]' },
          energyStreams: [{ field: 'total_wh', unit: 'Wh' }],
        },
      ],
    });
    const again = await check('again.yaml', stdout);
    expect(again.code).toBe(0);
  });

  test('prints every quantity with its unit, and the print means the same configuration', async () => {
    const yaml = `
stream: { deviceTimeout: 15m }
limits: { readHold: 10s }
alerts:
  checkEvery: 45s
  conditions: { deviceSilent: { limit: 3h, for: 10m }, deviceIdle: { limit: 3 }, coverage: { limit: 0.8 } }
workgroups:
  - id: home
    energyStreams:
      - { table: solar, field: power, method: power_curve, maxPower: 10 kW, maxGap: 2h, interval: 15m }
      - { table: grid, field: wh, method: total_energy, jitter: 100 Wh }
    inputs:
      mqtt:
        - id: victron
          url: mqtt://127.0.0.1
          request: { topic: keepalive, every: 30s }
          rules: [{ topic: t, table: solar, device: x, fields: { power: payload } }]
`;
    const { code, stdout } = await check('units.yaml', yaml);
    expect(code).toBe(0);
    expect(parse(stdout)).toMatchObject({
      stream: { retention: '1h', deviceTimeout: '15m' },
      limits: { readHold: '10s', authenticationTimeout: '5s' },
      alerts: {
        checkEvery: '45s',
        conditions: {
          deviceSilent: { limit: '3h', for: '10m' },
          deviceIdle: { limit: 3, for: '0ms' },
          coverage: { limit: 0.8 },
          disk: { limit: 0.1, for: '5m' },
        },
      },
      workgroups: [
        {
          energyStreams: [{ maxPower: '10000 W', maxGap: '2h', interval: '15m' }, { jitter: '100 Wh' }],
          inputs: { mqtt: [{ request: { every: '30s' } }] },
        },
      ],
    });
    const json = async (name: string, text: string) =>
      JSON.parse((await check(name, text, { args: ['--json'] })).stdout).config;
    expect(await json('units-again.yaml', stdout)).toEqual(await json('units.yaml', yaml));
  });

  test('with --json it prints one JSON document and nothing else', async () => {
    const { code, stdout, stderr } = await check('json.yaml', site, {
      args: ['--json'],
      environment: { UPSTREAM_TOKEN: 'hunter4' },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd()).not.toContain('\n');
    expect(JSON.parse(stdout)).toMatchObject({ warnings: [], config: { workgroups: [{ id: 'home' }] } });
  });

  test('prints every problem with its path, and nothing on standard output', async () => {
    const yaml =
      'http: { port: 70000 }\nqueue: { backend: redis }\nworkgroups: [{ id: "no/good", timezone: Mars }]\n';
    const words = await check('bad.yaml', yaml);
    expect(words).toMatchObject({ code: 2, stdout: '' });
    const lines = words.stderr.trimEnd().split('\n');
    expect(lines[0]).toBe(`wattline: the configuration ${join(cwd, 'bad.yaml')} has 4 problems:`);
    expect(lines.slice(1).map((line) => line.trim().split(':')[0])).toEqual([
      'http.port',
      'queue.redisUrl',
      'workgroups.0.id',
      'workgroups.0.timezone',
    ]);
    const json = await check('bad.yaml', yaml, { args: ['--json'] });
    expect(json).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(json.stderr)).toMatchObject({
      error: 'InvalidInput',
      retryable: false,
      problems: [{ path: 'http.port' }, {}, {}, { path: 'workgroups.0.timezone' }],
    });
  });

  test('warns about settings that are allowed but probably a mistake', async () => {
    const { code, stderr } = await check('bare.yaml', 'workgroups: [{ id: home }]\n');
    expect(code).toBe(0);
    expect(stderr).toContain('warning: workgroups.0.energyStreams: workgroup "home" has no energyStreams');
    const empty = await check('empty.yaml', 'workgroups: []\n', { args: ['--json'] });
    expect(JSON.parse(empty.stdout).warnings).toEqual([
      {
        path: 'workgroups',
        message: expect.stringMatching(/^no workgroup is configured; .* name it with --config$/),
      },
    ]);
  });

  test.each([
    ['config', 'check'],
    ['up', '--port', '0'],
    ['stream', '--port', '0'],
    ['worker'],
    ['report', '--port', '0'],
    ['status'],
    ['token', 'list'],
    ['import', 'may.csv', '--table', 'solar'],
  ])('fails without a configuration and names the places: %s', async (...args) => {
    const folder = await realpath(await mkdtemp(join(cwd, 'nothing-')));
    const { code, stdout, stderr } = await runCommand(args, { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`there is neither ${folder}/wattline.yaml nor a folder ${folder}/workgroups.d`);
    expect(stderr).toContain('--config');
    expect(await readdir(folder)).toEqual([]);
  });
});
