import { copyFileSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { npmFile } from '../support/npm-file.ts';
import { cliFile } from '../support/process-environment.ts';
import { programRoot } from '../support/program-folder.ts';
import { runCli } from '../support/run-cli.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A checkout in which everything is installed, and a folder below it with a configuration. */
function makeCheckout() {
  const checkout = realpathSync(tempDir());
  copyFileSync(join(programRoot, 'package.json'), join(checkout, 'package.json'));
  const plant = join(checkout, 'plants', 'home');
  for (const folder of ['.ci', 'src', 'plants', 'plants/home']) mkdirSync(join(checkout, folder));
  writeFileSync(join(checkout, '.ci', 'prepare.mjs'), '');
  symlinkSync(join(programRoot, 'node_modules'), join(checkout, 'node_modules'));
  symlinkSync(cliFile, join(checkout, 'src', 'cli.ts'));
  writeFileSync(join(plant, 'wattline.yaml'), 'workgroups: [{ id: home }]\n');
  return { checkout, plant };
}

const run = (cwd: string, ...args: string[]) =>
  runCli(args, { cwd, script: npmFile(), environment: { HOME: tempDir() } });

test('the npm script looks for the configuration where the user stands, and says where that is', async () => {
  const { checkout, plant } = makeCheckout();
  const found = await run(plant, 'run', '-s', 'wattline', '--', 'status');
  expect(found).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`no worker has run on ${plant}/data yet`),
  });
  const missing = await run(join(checkout, 'plants'), 'run', '-s', 'wattline', '--', 'status');
  expect(missing).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`there is neither ${checkout}/plants/wattline.yaml nor a folder`),
  });
  const elsewhere = realpathSync(tempDir());
  const far = await run(elsewhere, 'run', '-s', '--prefix', checkout, 'wattline', '--', 'status');
  expect(far).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`there is neither ${elsewhere}/wattline.yaml nor a folder`),
  });
});
