// @module-tag slow
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { openReport } from '../report/report-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { blocksOf, pages } from '../support/readme.ts';
import { askRecipe } from '../support/recipes.ts';

const page = pages.get('docs/tools.md')!;

/** A Python with pandas. */
const pandas = ['/usr/bin/python3', 'python3'].find(
  (command) => spawnSync(command, ['-c', 'import pandas'], { stdio: 'ignore' }).status === 0,
);

/** A report with the energy of two days. */
async function reportOfTwoDays() {
  const at = await openReport({ devices: [{ id: deviceId(1), name: 'garage' }] });
  await storeDays(at.shard, [
    { day: '2026-11-18', device: 1, energyWh: 500 },
    { day: '2026-11-19', device: 1, energyWh: 700 },
  ]);
  await at.publish();
  return at;
}

test.skipIf(pandas === undefined)('the script for pandas prints the energy of the report', async () => {
  const at = await reportOfTwoDays();
  const script = blocksOf('docs/tools.md', 'python')
    .find((block) => block.includes('import pandas'))!
    .replace('http://127.0.0.1:8080', new URL((await at.get('/')).url).origin)
    .replace('/orgs/home/', `/orgs/${WORKGROUP}/`);
  const { stdout } = await promisify(execFile)(pandas!, ['-c', script], {
    env: { ...process.env, WATTLINE_TOKEN: at.token },
  });
  expect(stdout).toMatch(/device_name +garage\s[\s\S]*2026-11-18 +500\n2026-11-19 +700\n/);
});

test('every address of the page answers with rows, and every query with the energy of the lake', async () => {
  const at = await reportOfTwoDays();
  await at.renew();
  const here = (address: string) => address.replace('/orgs/home/', `/orgs/${WORKGROUP}/`);

  const addresses = [...page.matchAll(/http:\/\/127\.0\.0\.1:8080(\/api[^\s"]+)/g)].map(([, path]) => path!);
  expect(addresses).toHaveLength(3);
  const m = blocksOf('docs/tools.md', 'm')[0]!;
  const [, path] = /RelativePath = "([^"]+)"/.exec(m)!;
  const query = [...m.matchAll(/(\w+) = "([^"]+)"(?=[,\]]\s?)/g)].filter(([, name]) =>
    /^(?:startDate|endDate|format)$/.test(name!),
  );
  expect(query).toHaveLength(3);
  addresses.push(`/${path}?${query.map(([, name, value]) => `${name}=${value}`).join('&')}`);
  for (const address of addresses) {
    const response = await at.get(here(address));
    expect([address, response.status]).toEqual([address, 200]);
    if (address.endsWith('parquet')) continue;
    const [head, ...rows] = (await response.text()).trim().split(/\r?\n/);
    expect(head!.split(',')).toEqual(expect.arrayContaining(['day', 'device_name', 'energy_wh']));
    expect(rows).toHaveLength(2);
  }

  const lake = lakePaths(at.lakeDir, WORKGROUP).root;
  const answers = [];
  for (const sql of blocksOf('docs/tools.md', 'sql'))
    answers.push((await askRecipe(lake, { title: '', sql, columns: [], says: '', isOnFiles: false })).rows);
  expect(answers).toEqual([
    [
      expect.objectContaining({ metric: 'garage', value: 500 }),
      expect.objectContaining({ metric: 'garage', value: 700 }),
    ],
    [expect.objectContaining({ energy_kwh: 1.2, days_with_energy: 2 })],
    [
      expect.objectContaining({ day: '2026-11-18', device: deviceId(1), energy_wh: 500 }),
      expect.objectContaining({ day: '2026-11-19', device: deviceId(1), energy_wh: 700 }),
    ],
  ]);
});
