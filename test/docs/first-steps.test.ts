// @module-tag slow
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cliFile } from '../support/process-environment.ts';
import { blocksOf, pages } from '../support/readme.ts';
import { until } from '../support/until.ts';
import { createUpProcess, type ServiceProcess } from '../support/up-process.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/** A zone where it is about noon, so that half an hour ago is the same day. */
function zoneOfNoon(): string {
  const hours = new Date().getUTCHours() - 12;
  return `Etc/GMT${hours < 0 ? '' : '+'}${hours}`;
}

const timezone = zoneOfNoon();
const cwd = mkdtempSync(join(tmpdir(), 'wattline-test-'));
let service: ServiceProcess;

beforeAll(async () => {
  const yaml = blocksOf('README.md', 'yaml')[0]!.replace('Europe/Paris', timezone);
  service = await createUpProcess(cwd, parse(yaml));
  await service.start();
});

afterAll(async () => {
  await service.stop();
  rmSync(cwd, { recursive: true, force: true });
});

test('the first steps of the README lead to the energy that it says, with an explanation', {
  timeout: 240_000,
}, async () => {
  const block = blocksOf('README.md', 'sh').find((text) => text.startsWith('TOKEN='))!;
  const [send, ask, rest] = block.split(/^(curl .*)\n/m);
  const shell = async (lines: string) => {
    const script = lines
      .replaceAll('npm run -s wattline --', `'${process.execPath}' '${cliFile}'`)
      .replaceAll('http://127.0.0.1:8080', service.url)
      .replace('Europe/Paris', timezone);
    writeFileSync(join(cwd, 'steps.sh'), `set -eu\n${script}`);
    const { stdout } = await promisify(execFile)('bash', ['steps.sh'], { cwd });
    return stdout;
  };

  const sent = await shell(`${send}echo "TOKEN='$TOKEN' DAY='$DAY' LAST='$LAST'"`);
  const [answer, variables] = sent.trim().split('\n');
  expect(JSON.parse(answer!)).toMatchObject({ accepted: 2 });
  const day = /DAY='(.*?)'/.exec(variables!)![1]!;
  expect(pages.get('README.md')).toContain('`{"<day>":{"<deviceId>.roof":1200}}`');
  let energy: { error?: string } = {};
  // On a machine with much other work, `after` can answer 503.
  await until('the energy is published', async () => {
    energy = JSON.parse(await shell(`${variables}\n${ask} -sS`));
    return energy.error === undefined;
  });
  expect(energy).toEqual({ [day]: { [`${DEVICE}.roof`]: 1200 } });
  const told = await shell(rest!);
  expect(told).toContain('1,200 Wh');
  expect(told).toContain('home');
});

test('docs/http.md has the requests that there are, and no others', async () => {
  const answer = await fetch(`${service.url}/openapi.json`);
  const { paths } = (await answer.json()) as { paths: Record<string, object> };
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, '<$1>')}`),
  );
  const page = pages.get('docs/http.md')!;
  const told = [...page.matchAll(/`((?:GET|POST|PUT|DELETE) [^`?]+)/g)].map(([, request]) => request!);
  // Its protocol describes itself.
  const mcp = 'POST /mcp';
  expect(told).toContain(mcp);
  const root = '/api/v1/orgs/<workgroupId>/';
  const reports = requests
    .filter((request) => request.includes(root) || !request.includes('/api/'))
    .map((request) => request.replace(root, ''));
  expect(reports.length).toBeGreaterThan(15);
  const ofReports = told.filter((request) => !/\/api\/|\.\.\./.test(request) && request !== mcp);
  expect(ofReports.toSorted()).toEqual(reports.toSorted());
});
