import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { onError } from '../conformance/breakage.ts';
import { readCases } from '../conformance/breakages-read.ts';
import { startBreakingProxy } from '../conformance/breaking-proxy.ts';
import { runCommand } from '../support/run-command.ts';
import { startStreamService } from '../support/stream-service.ts';
import { tempDir } from '../support/temp-dir.ts';

async function setUp() {
  const service = await startStreamService();
  const token = await service.token();
  const cwd = tempDir();
  writeFileSync(join(cwd, 'my.token'), `${token}\n`);
  const run = (args: string[], environment: Record<string, string> = {}) =>
    runCommand(['conformance', ...args], { cwd, environment });
  return { service, token, run };
}

describe('wattline conformance', () => {
  test('prints a line for each rule, and exits with 0 if the server keeps all of them', async () => {
    const { service, token, run } = await setUp();
    const only = ['--only', 'offset,timestamp,ingest.cbor,limit.default'];
    const { code, stdout, stderr } = await run(
      [service.baseUrl, '-w', 'acme', '--token', '@my.token', '--write', ...only],
      {},
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(/^wattline: checking \d+ rules at .*, workgroup acme, table conformance_\w+\n$/);
    expect(stdout).toMatch(
      /^PASS {2}offset\.inclusive +offset is inclusive: .* \(docs\/stream\.md, Where a read starts\)$/m,
    );
    expect(stdout).toMatch(/^SKIP {2}limit\.default +.* \(needs --slow\)$/m);
    expect(stdout).toMatch(/^\d+ passed, 0 failed, 2 skipped in [\d.]+ s$/m);
    expect(stdout).not.toContain(token);
  });

  test('prints the behaviour and a curl command without the token, and exits with 1 if a rule fails', async () => {
    const { service, token, run } = await setUp();
    const breakage = readCases.find(({ fails }) => fails[0] === 'limit.invalid')!;
    const proxy = await startBreakingProxy(service.baseUrl, breakage);
    onTestFinished(proxy.close);
    const args = [proxy.url, '-w', 'acme', '--only', 'limit.invalid,limit.above'];
    const { code, stdout, stderr } = await run(args, { WATTLINE_TOKEN: token });
    expect(code).toBe(1);
    expect(stderr).toContain(
      `\nwattline: ${proxy.url} breaks 1 of the rules; the lines that begin with FAIL say how\n`,
    );
    const [, saw, command] = stdout.slice(stdout.indexOf('FAIL')).split('\n');
    expect(saw).toMatch(/^ {6}saw {2}200 with 0 messages instead of 400 InvalidLimit$/);
    expect(command).toBe(
      `      try  curl -sS -D - -o answer.cbor -H "Authorization: Bearer $WATTLINE_TOKEN" -H 'prefer: wait=0' '${proxy.url}/api/v1/tables/acme/-/latest?limit=0'`,
    );
    const { code: again, stdout: json } = await run([...args, '--json'], { WATTLINE_TOKEN: token });
    expect(again).toBe(1);
    const data = JSON.parse(json);
    expect(data).toMatchObject({ passed: 1, failed: 1, skipped: 0 });
    expect(data.rules[1]).toMatchObject({ id: 'limit.invalid', result: 'fail', saw: expect.any(String) });
    expect(stdout + json).not.toContain(token);
  });

  test('exits with 2 if an argument is missing or wrong, and with 3 if the server does not answer', async () => {
    const { service, token, run } = await setUp();
    const missing = await run([]);
    expect(missing.code).toBe(2);
    for (const path of ['url', '--workgroup', '--token']) expect(missing.stderr).toContain(`  ${path}: `);
    const refused = await run([service.baseUrl, '-w', 'acme', '--token', 'none']);
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('InvalidToken') });
    const foreign = await run([service.baseUrl, '-w', 'other', '-t', 'solar', '--token', '@my.token']);
    expect(foreign).toMatchObject({ code: 2, stderr: expect.stringContaining('WorkgroupForbidden') });
    const noFile = await run([service.baseUrl, '--token', '@missing']);
    expect(noFile.stderr.match(/^ {2}--token: .*$/gm)).toEqual([
      expect.stringContaining('cannot be read: ENOENT'),
    ]);
    const twice = await run([service.baseUrl, '-w', 'acme', '--token', '@my.token', '--write'], {
      WATTLINE_RESTRICTED_TOKEN: token,
    });
    expect(twice).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--restricted-token: it is the'),
    });
    const unknown = await run([service.baseUrl, '--only', 'nothing']);
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no rule begins with "nothing"'),
    });
    const nobody = await run(['http://127.0.0.1:1', '-w', 'acme', '--token', '@my.token']);
    expect(nobody).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('ECONNREFUSED') });
    const elsewhere = await run([`${service.baseUrl}/x`, '-w', 'acme', '--token', '@my.token']);
    expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no stream below') });
  });

  test('reads the table of --table, and skips socket.io with --no-socket', async () => {
    const { service, run } = await setUp();
    const args = [service.baseUrl, '-w', 'acme', '--token', '@my.token', '-t', 'solar', '--no-socket'];
    const { code, stdout, stderr } = await run([...args, '--only', 'socket.auth,table']);
    expect(code).toBe(0);
    // Of the rules with "table" in their names, those that begin with it.
    expect(stderr).toContain('checking 3 rules');
    expect(stderr).toContain('table solar\n');
    expect(stdout).toMatch(/^SKIP {2}socket\.auth .* \(skipped by --no-socket\)$/m);
  });

  test('shows control characters of a server as text', async () => {
    const { service, run } = await setUp();
    const breakage = onError('InvalidLimit', ({ body }) => {
      body.error = '\u001b[2J';
    });
    const proxy = await startBreakingProxy(service.baseUrl, breakage);
    onTestFinished(proxy.close);
    const { stdout } = await run([
      proxy.url,
      '-w',
      'acme',
      '--token',
      '@my.token',
      '--only',
      'limit.invalid',
    ]);
    expect(stdout).toContain('saw  400 \\u001b[2J ');
    expect(stdout).not.toContain('\u001b');
  });

  test('lists the rules without a server', async () => {
    const { run } = await setUp();
    const { code, stdout } = await run(['--list', '--json']);
    expect(code).toBe(0);
    const rules = JSON.parse(stdout) as Array<{ id: string; source: string }>;
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    for (const { source } of rules) expect(source).toMatch(/^docs\/stream\.md, [A-Z]/);
  });
});
