import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import { freePort } from '../support/free-port.ts';
import { cliFile, nodeOptions, processEnvironment } from '../support/process-environment.ts';
import { repositoryRoot } from '../support/readme.ts';
import { startRedis } from '../support/redis.ts';
import { runCli } from '../support/run-cli.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { readComposeFile } from './compose-file.ts';
import { proveService, startInstalled } from './installed-program.ts';

const several = 'several-machines.yaml';

test.each(['compose.yaml', several])('%s is whole: its volumes, services, files and health', (name) => {
  const { services, volumes } = readComposeFile(name);
  for (const [service, settings] of Object.entries(services)) {
    if (service !== 'redis') expect(settings.image).toBe(`wattline:${packageFile.version}`);
    const sources = settings.volumes.map((volume) => volume.split(':')[0]!);
    for (const source of sources) {
      const isFile = source.startsWith('./') && source !== './config';
      if (isFile) expect(existsSync(join(repositoryRoot, 'ops/compose', source)), source).toBe(true);
      if (!source.startsWith('./')) expect(Object.keys(volumes)).toContain(source);
    }
    const others = [...Object.keys(settings.depends_on ?? {}), settings.network_mode?.split(':')[1]];
    for (const other of others) if (other) expect(Object.keys(services)).toContain(other);
    const port = /127\.0\.0\.1:(\d+)\//.exec(JSON.stringify(settings.healthcheck))?.[1];
    if (port) expect(port).toBe(settings.environment?.WATTLINE_METRICS_PORT ?? '8080');
  }
});

test.skipIf(s3Missing)('the containers of several-machines.yaml work together', async () => {
  const { services } = readComposeFile(several);
  const folder = tempDir();
  const redis = await startRedis({ appendonly: 'yes', 'maxmemory-policy': 'noeviction' });
  onTestFinished(() => redis.stop());
  const { bucket, prefix, endpoint, region, accessKeyId, secretAccessKey } = await s3ForTests();
  const config = readFileSync(join(repositoryRoot, 'ops/compose/several-machines.wattline.yaml'), 'utf8');
  writeFileSync(
    join(folder, 'wattline.yaml'),
    config.replace('prefix: live', `prefix: ${prefix}`).replace('commitEvery: 1m', 'commitEvery: 1s'),
  );
  const ports = { stream: await freePort(), report: await freePort() };
  /** What Compose reads from .env, and the addresses and folders that are others without containers. */
  const environmentOf = async (name: string) => {
    const workerPort = String(await freePort());
    const replaced: Record<string, string> = {
      WATTLINE_REDIS_URL: redis.url,
      WATTLINE_BUCKET: bucket!,
      AWS_ENDPOINT_URL_S3: endpoint!,
      AWS_REGION: region!,
      AWS_ACCESS_KEY_ID: accessKeyId!,
      AWS_SECRET_ACCESS_KEY: secretAccessKey!,
      WATTLINE_JWKS_FILE: join(folder, 'keys/access/keys.json'),
      WATTLINE_WORKER_HOST: '127.0.0.1',
      WATTLINE_WORKER_PORT: workerPort,
      WATTLINE_WORKER_ADDRESS: `127.0.0.1:${workerPort}`,
      WATTLINE_METRICS_PORT: String(await freePort()),
    };
    const named = Object.keys(services[name]!.environment ?? {});
    expect(named.filter((variable) => !(variable in replaced))).toEqual([]);
    mkdirSync(join(folder, name), { recursive: true });
    return processEnvironment({
      ...Object.fromEntries(named.map((variable) => [variable, replaced[variable]!])),
      WATTLINE_DATA_DIR: join(folder, name),
      WATTLINE_STREAM_PORT: String(ports.stream),
      WATTLINE_REPORT_PORT: String(ports.report),
    }) as Record<string, string>;
  };
  const made = await runCli(services.keys!.command, {
    cwd: folder,
    environment: await environmentOf('keys'),
  });
  expect(made).toMatchObject({ code: 0 });

  const start = async (name: 'stream' | 'worker-1' | 'worker-2' | 'report') => {
    const role = services[name]!.command;
    const url = `http://127.0.0.1:${name === 'report' ? ports.report : ports.stream}`;
    const command = [process.execPath, ...nodeOptions, cliFile, ...role];
    const environment = await environmentOf(name);
    const service = startInstalled(url, command, { cwd: folder, environment });
    const port = name.startsWith('worker') ? environment.WATTLINE_METRICS_PORT : new URL(url).port;
    /** What Docker asks: 0 is healthy. */
    const checkHealth = () => {
      const { healthcheck } = services[name]!;
      const [, , ...words] = 'test' in healthcheck ? healthcheck.test : [];
      const check = words.map((word) => word.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`));
      return spawnSync(process.execPath, check).status;
    };
    return { url, checkHealth, ...service };
  };
  const stream = await start('stream');
  await stream.untilReady();
  const [one, two, report] = [await start('worker-1'), await start('worker-2'), await start('report')];
  await report.untilReady();
  const permissions = ['--permission', 'search:read', '--permission', 'data:write'];
  const token = await runCli(['token', 'create', 'me', '-w', 'home', ...permissions, '--json'], {
    cwd: folder,
    environment: await environmentOf('report'),
  });
  await proveService(stream.url, JSON.parse(token.stdout).token, report.url);
  for (const service of [one, two, report, stream]) {
    expect(service.checkHealth()).toBe(0);
    expect(await service.stop(), service.errorText()).toBe(0);
    expect(service.checkHealth()).toBe(1);
  }
});
