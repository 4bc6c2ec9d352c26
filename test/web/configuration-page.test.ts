import { expect, test } from 'vitest';
import type { AuditEntries, Tokens } from '../../src/web/facts/answers.ts';
import { ConfigurationPage } from '../../src/web/pages/configuration-page.tsx';
import { healthyStatus } from './support/healthy-status.ts';
import { renderPart } from './support/render-part.ts';

type Problem = (typeof healthyStatus)['problems'][number];
type Token = Tokens['tokens'][number];
type Entry = AuditEntries['entries'][number];

const token: Token = {
  id: '5f0c9c0e',
  subject: 'dashboard',
  permissions: ['search:read', 'org:admin'],
  deviceGroups: null,
  issuedAt: '2026-05-16T08:00:00.000Z',
  expiresAt: '2027-05-16T08:00:00.000Z',
  state: 'active',
  revokedAt: null,
};
const entry: Entry = {
  at: '2026-05-17T08:00:00.000Z',
  actor: 'local:anna',
  action: 'token.created',
  target: '5f0c9c0e',
  data: { name: 'dashboard' },
};

const drawn = (answers: object, workgroup = {}) =>
  renderPart(
    ConfigurationPage,
    {},
    { ...answers },
    {
      workgroup: {
        id: 'home',
        maySeeAll: true,
        mayCorrect: true,
        mayOperate: true,
        mayAudit: true,
        ...workgroup,
      },
    },
  ).lines;
/** The lines of one part, from its title to the title of the next part. */
const linesOf = (lines: string[], title: string, next?: string) =>
  lines.slice(lines.indexOf(title), next === undefined ? undefined : lines.indexOf(next));
const problemsOf = (problems: Problem[]) =>
  linesOf(drawn({ status: { ...healthyStatus, problems } }), 'Problems', 'What is in force');
const tokensOf = (tokens: Token[], total = tokens.length) =>
  linesOf(drawn({ tokens: { tokens, total } }), 'Tokens', 'Who did what');
const auditOf = (entries: Entry[], next: string | null = null) =>
  linesOf(drawn({ audit: { entries, next } }), 'Who did what');

const [problems, inForce, tokens, audit] = [
  ['Problems', 'Reading the problems …'],
  ['What is in force', 'Reading the settings …'],
  ['Tokens', 'Reading the tokens …'],
  ['Who did what', 'Reading the audit log …'],
];

test.each([
  [{}, [problems, inForce, tokens, audit]],
  [{ mayOperate: false }, [problems, inForce, audit]],
  [{ mayAudit: false }, [problems, inForce, tokens]],
  [{ maySeeAll: false }, [inForce]],
])('a token with %o sees only the parts that it may read', (workgroup, parts) => {
  expect(drawn({}, workgroup)).toEqual(['Configuration', ...parts.flat()]);
});

test('a configuration that the data do not contradict says so', () => {
  expect(problemsOf([])).toEqual(['Problems', 'No problem', 'The data do not contradict the configuration.']);
});

test('each problem has its setting and a sentence', () => {
  const one = { path: 'devices.garage', message: 'no message has named it' };
  expect(problemsOf([one])[1]).toBe(
    '1 setting contradicts the data. Change the setting, then run wattline reload.',
  );
  expect(problemsOf([one, { path: 'meters.GRID-1', message: 'Its unit differs.' }])).toEqual([
    'Problems',
    '2 settings contradict the data. Change the settings, then run wattline reload.',
    'Problems',
    'Setting | Problem',
    'devices.garage | No message has named it.',
    'meters.GRID-1 | Its unit differs.',
    '<Problems>',
  ]);
});

test('without tokens it says how to make one', () => {
  expect(tokensOf([])).toEqual(['Tokens', 'No tokens', 'Make one with wattline token create.']);
});

test('each token has its state, what it may do, and its end, which is earlier if it is revoked', () => {
  const list: Token[] = [
    token,
    { ...token, state: 'expired', permissions: ['search:read'], deviceGroups: ['roof', 'garage'] },
    { ...token, state: 'revoked', revokedAt: '2026-05-17T09:30:00.000Z' },
  ];
  expect(tokensOf(list, 1_203)).toEqual([
    'Tokens',
    '1 of 1,203 tokens can be used. A token itself is stored nowhere, so it cannot be shown.',
    'Tokens, newest first',
    'For | State | Permissions | Devices | Made | Ends | Id',
    'dashboard | [good] active | search:read, org:admin | all | May 16, 2026, 10:00 | May 16, 2027, 10:00 | 5f0c9c0e',
    'dashboard | [calm] expired | search:read | roof, garage | May 16, 2026, 10:00 | May 16, 2027, 10:00 | 5f0c9c0e',
    'dashboard | [bad] revoked | search:read, org:admin | all | May 16, 2026, 10:00 | May 17, 2026, 11:30 | 5f0c9c0e',
    '<Tokens, newest first>',
  ]);
});

test('an empty audit log says what it will have', () => {
  expect(auditOf([])).toEqual([
    'Who did what',
    'Nothing yet',
    'Changes by people and by tokens are listed here.',
  ]);
});

test('each entry of the audit log has who did what, without ids of tokens and of entries', () => {
  const entries: Entry[] = [
    entry,
    {
      ...entry,
      actor: 'token:5f0c9c0e bob',
      action: 'correction.set_day',
      data: { entry: 'e1', rows: 22, days: ['2026-05-16'], reason: 'by hand' },
    },
    { ...entry, actor: null, action: null, target: null, data: null },
  ];
  expect(auditOf(entries, 'e0')).toEqual([
    'Who did what',
    'The newest 3 entries of the audit log, newest first. New entries are added, and none is ever changed.',
    'Audit log, newest first',
    'When | Who | What | On | More',
    'May 17, 2026, 10:00 | anna | token created | 5f0c9c0e | name: dashboard',
    'May 17, 2026, 10:00 | bob | correction set day | 5f0c9c0e | rows: 22, days: ["2026-05-16"], reason: by hand',
    'May 17, 2026, 10:00 | – | – | – |',
    '<Audit log, newest first>',
    '[Older]',
  ]);
});

test('an audit log that is shown whole has no older entries', () => {
  expect(auditOf([entry]).at(-1)).toBe('<Audit log, newest first>');
});
