import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type MetricDefinition, metricTable } from '../../src/metrics/metric-table.ts';
import { PROMTOOL_MISSING, promtool, runPromtool } from '../support/promtool.ts';
import { repositoryRoot } from '../support/readme.ts';
import { isFull } from '../support/rounds.ts';

const folder = join(repositoryRoot, 'ops', 'prometheus');
const rules = readFileSync(join(folder, 'rules.yml'), 'utf8');
if (isFull && !promtool) process.stderr.write(`alert-rules: ${PROMTOOL_MISSING}\n`);

test.skipIf(!promtool)('promtool accepts the rules, and their tests pass', { tags: ['slow'] }, () => {
  expect(runPromtool(['check', 'rules', join(folder, 'rules.yml')])).toMatchObject({ code: 0 });
  expect(runPromtool(['test', 'rules', join(folder, 'rules_test.yml')])).toMatchObject({ code: 0 });
});

test.skipIf(!promtool)('promtool accepts the name of every metric', { tags: ['slow'] }, () => {
  // A real scrape has no samples of what has not happened, and only names with samples are checked.
  const text = Object.entries<MetricDefinition>(metricTable)
    .filter(([, { type }]) => type !== 'histogram')
    .map(([name, { type, help }]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} 1\n`);
  expect(runPromtool(['check', 'metrics'], text.join(''))).toEqual({ code: 0, text: '' });
});

test('each rule has a test', () => {
  const { groups } = parse(rules) as { groups: Array<{ rules: Array<{ alert: string }> }> };
  const tests = readFileSync(join(folder, 'rules_test.yml'), 'utf8');
  for (const { alert } of groups.flatMap((group) => group.rules))
    expect(tests).toContain(`alertname: ${alert}\n        exp_alerts:`);
});
