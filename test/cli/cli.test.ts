import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageFile from '../../package.json' with { type: 'json' };
import { main } from '../../src/cli/main.ts';
import { nodeProblem } from '../../src/cli/node-version.ts';
import type { Terminal } from '../../src/service/terminal.ts';
import { type CliResult, runCli } from '../support/run-cli.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'wattline-cli-'));
});
afterAll(() => rm(cwd, { recursive: true }));

/** Runs a command in this process. This is enough for commands that only print. */
async function runHere(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<CliResult> {
  const result: CliResult = { code: null, stdout: '', stderr: '' };
  const terminal: Terminal = {
    cwd,
    environment,
    isInteractive: false,
    out: (text) => {
      result.stdout += text;
    },
    err: (text) => {
      result.stderr += text;
    },
    onEnd: () => () => undefined,
    onReload: () => () => undefined,
    kill: (signal) => {
      throw new Error(`killed by ${signal}`);
    },
  };
  result.code = await main(args, terminal);
  return result;
}

describe.concurrent('the command line', () => {
  test('prints its version in words and as JSON', async () => {
    const json = await runCli(['version', '--json'], { cwd });
    const [words, option, short] = await Promise.all(
      [['version'], ['--version'], ['-V']].map((args) => runHere(args)),
    );
    expect(words).toEqual({ code: 0, stdout: `wattline ${packageFile.version}\n`, stderr: '' });
    expect(short).toEqual(option);
    expect(JSON.parse(json.stdout)).toEqual({ version: packageFile.version, node: process.versions.node });
    expect(option).toMatchObject({ code: 0, stdout: `${packageFile.version}\n` });
  });

  // A shell remembers where it found `node`, so a script that has just installed the pinned one has to name
  // it.
  test('runs on the pinned Node in a fresh clone, with any Node that brought npm', () => {
    // In place of the shell, which would keep a signal that npm was sent to itself.
    for (const name of ['demo', 'bench'] as const)
      expect(packageFile.scripts[name]).toMatch(
        /^node \.ci\/prepare\.mjs && exec node_modules\/\.bin\/node \S+\.ts/,
      );
    expect(packageFile.scripts.wattline).toMatch(
      /^node \.ci\/prepare\.mjs && root=\$PWD && .* && exec "\$root\/node_modules\/\.bin\/node" \S+\.ts"$/,
    );
    expect(packageFile.scripts.build).toMatch(/^node \.ci\/prepare\.mjs && /);
  });

  test('on an older Node it names the version that it needs', () => {
    expect(nodeProblem(process.versions.node)).toBeUndefined();
    expect(nodeProblem('25.0.0')).toBeUndefined();
    for (const version of ['20.20.2', '24.4.9'])
      expect(nodeProblem(version)).toBe(`this is Node ${version}, and Node 24.5 or later is needed`);
  });

  test('prints the help of a subcommand, and an error if the subcommand does not exist', {
    tags: ['slow'],
  }, async () => {
    const { code, stdout } = await runHere(['help', 'token', 'create']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('--workgroup <id>') });
    expect(await runHere(['help', 'nothing'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'wattline: unknown command \'nothing\'; see "wattline help"\n',
    });
  });

  test('reports a missing command, to people with a list of commands and to programs as JSON', {
    tags: ['slow'],
  }, async () => {
    const words = await runHere([]);
    expect([words.code, words.stdout, words.stderr]).toEqual([
      2,
      '',
      expect.stringMatching(/^Usage: wattline /),
    ]);
    for (const args of [['--json'], ['token', '--json']]) {
      const { code, stdout, stderr } = await runHere(args);
      expect([code, stdout, JSON.parse(stderr)]).toEqual([
        2,
        '',
        { error: 'Usage', message: "a command is missing; 'wattline --help' lists them", retryable: false },
      ]);
    }
  });

  test('distinguishes a workgroup that is not configured from a workgroup without a lake', async () => {
    const folder = await mkdtemp(join(cwd, 'status-'));
    await writeFile(join(folder, 'wattline.yaml'), 'workgroups: [{ id: home }]');
    const config = join(folder, 'wattline.yaml');
    expect((await runHere(['status', '-c', config])).code).toBe(3);
    const unknown = await runHere(['status', '-c', config, '-w', 'hme']);
    expect({ code: unknown.code, stderr: unknown.stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('--workgroup: "hme" is not configured'),
    });
  });

  test('its help describes every command, with examples and the exit codes', async () => {
    const { code, stdout, stderr } = await runHere(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const command of [
      'up',
      'stream',
      'worker',
      'report',
      'status',
      'token',
      'config',
      'replay',
      'demo',
      'version',
    ])
      expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
    expect(stdout).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}3 /);
  });

  test.each(['up', 'stream', 'worker', 'report', 'status', 'token create', 'config check', 'replay', 'demo'])(
    'gives examples in the help of %s',
    async (command) => {
      const { code, stdout } = await runHere([...command.split(' '), '--help']);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`Examples:\\n(.*\\n)*.*wattline ${command}`));
    },
  );

  test.each([
    [['stat'], `wattline: unknown command 'stat' (Did you mean status?)\n`],
    [['up', '--prot', '1'], `wattline: unknown option '--prot' (Did you mean --port?)\n`],
    [
      ['token', 'revoke'],
      `wattline: missing required argument 'token-id'; see "wattline help token revoke"\n`,
    ],
    [
      ['up', '--port', '70000'],
      `wattline: option '--port <number>' argument '70000' is invalid. Use a number from 0 to 65535.\n`,
    ],
  ])('answers %j with one line and exit code 2', async (args, stderr) => {
    expect(await runHere(args)).toEqual({ code: 2, stdout: '', stderr });
  });

  test('with --json it reports a wrong command line as one JSON object', async () => {
    const { code, stdout, stderr } = await runHere(['status', '--nope', '--json']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({
      error: 'Usage',
      message: `unknown option '--nope'; see "wattline help status"`,
      retryable: false,
    });
  });

  test('shows a stack only for debugging', async () => {
    const args = ['config', 'check', '--config', 'missing.yaml'];
    const [plain, level, variable] = await Promise.all([
      runHere(args),
      runHere([...args, '--log-level', 'debug']),
      runHere(args, { WATTLINE_DEBUG: '1' }),
    ]);
    expect(plain.stderr).not.toMatch(/^ {4}at /m);
    expect(level.stderr).toMatch(/^ {4}at .*readConfig/m);
    expect(variable.stderr).toMatch(/^ {4}at .*readConfig/m);
    expect([plain.code, level.code, variable.code]).toEqual([2, 2, 2]);
  });

  test('ends without an error if the reader of its output is closed', { tags: ['slow'] }, async () => {
    const workgroups = Array.from({ length: 5_000 }, (_, index) => `  - id: workgroup-${index}`);
    await writeFile(join(cwd, 'many.yaml'), `workgroups:\n${workgroups.join('\n')}\n`);
    const { code, stdout, stderr } = await runCli(['config', 'check', '--json', '--config', 'many.yaml'], {
      cwd,
      readBytes: 10,
    });
    expect(stdout.length).toBeLessThan(500_000);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});
