import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { PROMTOOL_MISSING, promtool, runPromtool } from '../support/promtool.ts';
import { repositoryRoot } from '../support/readme.ts';

const folder = join(repositoryRoot, 'ops', 'prometheus');
const rules = readFileSync(join(folder, 'rules.yml'), 'utf8');
if (!promtool) process.stderr.write(`alert-rules: ${PROMTOOL_MISSING}\n`);

test.skipIf(!promtool)('promtool accepts the rules, and their tests pass', () => {
  expect(runPromtool(['check', 'rules', join(folder, 'rules.yml')])).toMatchObject({ code: 0 });
  expect(runPromtool(['test', 'rules', join(folder, 'rules_test.yml')])).toMatchObject({ code: 0 });
});

test('each rule has a test', () => {
  const { groups } = parse(rules) as { groups: Array<{ rules: Array<{ alert: string }> }> };
  const tests = readFileSync(join(folder, 'rules_test.yml'), 'utf8');
  for (const { alert } of groups.flatMap((group) => group.rules))
    expect(tests).toContain(`alertname: ${alert}\n        exp_alerts:`);
});
