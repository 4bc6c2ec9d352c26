import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { DAY_MS, systemClock } from '../../src/lib/time.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'wattline-cli-'));
  const device = '00000000-0000-4000-8000-000000000001';
  await writeFile(
    join(cwd, 'wattline.yaml'),
    `workgroups: [{ id: home, deviceGroups: { flat: [${device}] } }, { id: office }]\n`,
  );
});
afterAll(() => rm(cwd, { recursive: true }));

const token = (...args: string[]) => runCommand(['token', ...args], { cwd });
const openAccess = () => createAccess({ dataDir: join(cwd, 'data'), issuer: 'wattline', clock: systemClock });

test('a token that is made holds until it is revoked, and is listed without being shown again', {
  tags: ['slow'],
}, async () => {
  const args = ['token', 'create', 'dashboard', '-w', 'home', '-w', 'office', '--expires', '2d'];
  const fromMs = Date.now();
  const reader = await runCli(args, { cwd });
  const toMs = Date.now();
  expect(reader.code).toBe(0);
  expect(reader.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const grant = await (await openAccess()).authenticate(reader.stdout.trim());
  expect(grant).toMatchObject({
    subject: 'dashboard',
    scopes: { home: { permissions: ['search:read'] }, office: { permissions: ['search:read'] } },
  });
  // A token counts seconds.
  expect(grant.expiresAtMs).toBeGreaterThan(fromMs + 2 * DAY_MS - 1_000);
  expect(grant.expiresAtMs).toBeLessThanOrEqual(toMs + 2 * DAY_MS);
  expect(reader.stderr).toContain(grant.tokenId);

  const json = await token('create', 'gateway', '-w', 'home', '-p', 'data:write', '-g', 'flat', '--json');
  expect(json).toMatchObject({ code: 0, stderr: '' });
  const written = JSON.parse(json.stdout);
  expect(written).toMatchObject({
    subject: 'gateway',
    scopes: { home: { permissions: ['data:write'], deviceGroups: ['flat'] } },
    expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
  });

  const table = await token('list');
  expect(table.stdout).not.toContain(written.token);
  const [title, first, second] = table.stdout.split('\n');
  expect(title).toMatch(/^Token id +State +Expires \(UTC\) +Subject +Allows$/);
  expect(first).toMatch(
    new RegExp(`^${written.tokenId}  active  .*  gateway +data:write in home \\(only flat\\)$`),
  );
  expect(second!.indexOf('dashboard')).toBe(title!.indexOf('Subject'));

  expect(await token('revoke', grant.tokenId)).toEqual({
    code: 0,
    stdout: `token ${grant.tokenId} is revoked\n`,
    stderr: '',
  });
  await expect((await openAccess()).authenticate(reader.stdout.trim())).rejects.toThrow('not valid');
  const listed = JSON.parse((await token('list', '--json')).stdout);
  expect(listed).toMatchObject([
    { tokenId: written.tokenId, state: 'active' },
    { tokenId: grant.tokenId, state: 'revoked', revokedAt: expect.stringMatching(/Z$/) },
  ]);
  expect(listed[0]).not.toHaveProperty('token');

  const entries = globSync('data/audit/home/*', { cwd })
    .flatMap((file) => readFileSync(join(cwd, file), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line))
    .map(({ action, target, data }) => ({ action, target, data }));
  expect(entries).toEqual([
    { action: 'token.created', target: grant.tokenId, data: expect.objectContaining({ name: 'dashboard' }) },
    {
      action: 'token.created',
      target: written.tokenId,
      data: expect.objectContaining({ permissions: 'data:write', deviceGroups: 'flat' }),
    },
    { action: 'token.revoked', target: grant.tokenId, data: { name: 'dashboard' } },
  ]);
});

test('a token for workgroups or groups that are not configured is refused with every reason', async () => {
  const { code, stdout, stderr } = await token('create', 'x', '-w', 'nowhere', '-w', 'home', '-g', 'attic');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('--workgroup: "nowhere" is not configured');
  expect(stderr).toContain(
    '--device-group: "attic" is not a device group of workgroup "home"; its groups are flat',
  );
  const office = await token('create', 'x', '-w', 'office', '-g', 'flat');
  expect(office.stderr).toContain(
    '--device-group: "flat" is not a device group of workgroup "office"; it has none',
  );
});

test.each([
  [['-p', 'everything'], 'Use one of search:read, org:audit, org:admin, data:write, data:correct.'],
  [['-e', 'soon'], 'Use a duration such as 12h or 30d.'],
])('a token with %j is refused with what to use instead', async (args, hint) => {
  const { code, stderr } = await token('create', 'x', '-w', 'home', ...args);
  expect(code).toBe(2);
  expect(stderr).toContain(hint);
});

test('revoke refuses a token in place of its id', async () => {
  const [header, payload] = ['{"alg":"EdDSA"}', '{}'].map((text) => Buffer.from(text).toString('base64url'));
  for (const tokenId of [`${header}.${payload}.c2lnbmF0dXJl`, '', 'a b']) {
    const { code, stdout, stderr } = await token('revoke', tokenId);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('is not the id of a token');
  }
});

test('a token of another issuer can be revoked, and a note says that this data folder has no such token', async () => {
  const { code, stderr } = await token('revoke', '00000000-0000-4000-8000-00000000000f');
  expect(code).toBe(0);
  expect(stderr).toContain('this data folder has no token');
});

test('a link opens the page with the token, and standard output still has the token alone', async () => {
  const made = await token('create', 'anna', '-w', 'home', '--link');
  expect(made.stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  expect(made.stderr).toContain(`http://127.0.0.1:8080/#token=${made.stdout.trim()}\n`);
  await token('revoke', made.stderr.match(/token ([\w-]{36}) for anna/)![1]!);
});
