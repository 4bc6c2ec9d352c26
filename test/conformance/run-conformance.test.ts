import { afterEach, expect, test } from 'vitest';
import { Breach, NotTestable } from '../../src/conformance/breach.ts';
import { createProbe, type Probe } from '../../src/conformance/probe.ts';
import { contractSections, needs, type Rule } from '../../src/conformance/rule.ts';
import { type Finding, runConformance } from '../../src/conformance/run-conformance.ts';
import type { Target } from '../../src/conformance/target.ts';

/** Nothing is sent to it. */
const bare: Target = {
  url: 'http://127.0.0.1:1',
  workgroup: 'acme',
  table: undefined,
  token: 'a',
  restrictedToken: undefined,
  foreignWorkgroup: undefined,
  write: false,
  slow: false,
  socketPath: undefined,
};
const full: Target = {
  ...bare,
  restrictedToken: 'b',
  foreignWorkgroup: 'other',
  write: true,
  slow: true,
  socketPath: '/s',
};

const probes: Probe[] = [];
afterEach(() => Promise.all(probes.splice(0).map((probe) => probe.close())));

function ruleOf(check: () => void, members: Partial<Rule> = {}): Rule {
  return { id: 'a', says: 'b', source: contractSections.access, check: async () => check(), ...members };
}

async function findingsOf(rules: Rule[], target: Target, controller = new AbortController()) {
  const { signal } = controller;
  const probe = createProbe(target, signal);
  probes.push(probe);
  const findings: Array<Omit<Finding, 'rule'>> = [];
  for await (const { rule: _, ...finding } of runConformance(rules, probe, signal)) findings.push(finding);
  return findings;
}

test.each([
  ['a rule on time fails after three failures', true, 3, [{ result: 'fail', saw: '3', sent: undefined }]],
  ['another rule fails at once', undefined, 9, [{ result: 'fail', saw: '1', sent: undefined }]],
  ['a rule on time passes if its third attempt does', true, 2, [{ result: 'pass' }]],
] as const)('%s', async (_, timed, failures, expected) => {
  let attempts = 0;
  const rule = ruleOf(() => {
    attempts += 1;
    if (attempts <= failures) throw new Breach(String(attempts));
  });
  expect(await findingsOf([{ ...rule, ...(timed && { timed }) }], bare)).toEqual(expected);
});

test('a rule is skipped, and not checked, while one of its needs is missing', async () => {
  let checked = 0;
  const count = () => {
    checked += 1;
  };
  const rules = Object.keys(needs).map((need) => ruleOf(count, { needs: [need as keyof typeof needs] }));
  const skipped = Object.values(needs).map((why) => ({ result: 'skip', why }));
  expect([await findingsOf(rules, bare), checked]).toEqual([skipped, 0]);
  expect([await findingsOf(rules, full), checked]).toEqual([
    rules.map(() => ({ result: 'pass' })),
    rules.length,
  ]);
  const both = ruleOf(() => undefined, { needs: ['write', 'slow'] });
  expect(await findingsOf([both], { ...bare, write: true })).toEqual([{ result: 'skip', why: needs.slow }]);
});

test('a rule that cannot be tested is skipped with its reason, and an error that is no breach ends the check', async () => {
  const untestable = ruleOf(() => {
    throw new NotTestable('no messages');
  });
  expect(await findingsOf([untestable], bare)).toEqual([{ result: 'skip', why: 'no messages' }]);
  const broken = ruleOf(() => {
    throw new TypeError('a fault of the check');
  });
  await expect(findingsOf([broken], bare)).rejects.toThrow('a fault of the check');
});

test('after an interruption no result is reported, of the current rule or of the next ones', async () => {
  const controller = new AbortController();
  const passes = ruleOf(() => undefined);
  const interrupted = ruleOf(() => controller.abort());
  expect(await findingsOf([passes, interrupted, passes], bare, controller)).toEqual([{ result: 'pass' }]);
});
