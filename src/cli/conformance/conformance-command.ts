import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Rule } from '../../conformance/rule.ts';
import type { Finding } from '../../conformance/run-conformance.ts';
import { type Target, tokenShownAs } from '../../conformance/target.ts';
import { SOCKET_PATH } from '../../contract/socket-events.ts';
import { errorMessage, InputError, type Problem, TerminalError } from '../../lib/errors.ts';
import { visibleLines } from '../../lib/visible-text.ts';
import type { Service } from '../../service/service.ts';
import type { Terminal } from '../../service/terminal.ts';
import { globalOptions } from '../global-options.ts';
import { runWithoutConfig } from '../run-service.ts';
import { printData, printNote } from '../terminal/output.ts';
import {
  type ConformanceSummary,
  describeFinding,
  describeRule,
  describeSummary,
  findingData,
} from './conformance-view.ts';

interface ConformanceOptions {
  workgroup?: string;
  token?: string;
  restrictedToken?: string;
  table?: string;
  foreignWorkgroup?: string;
  write?: boolean;
  slow?: boolean;
  socketPath: string;
  socket: boolean;
  only?: string[];
  list?: boolean;
}

export function addConformanceCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('conformance')
    .description('check rule by rule whether a server keeps the stream contract')
    .argument('[url]', 'the server, where /api/v1/... begins')
    .option('-w, --workgroup <id>', 'the workgroup to read')
    .option('--token <token>', 'a token of it, or @file (default: $WATTLINE_TOKEN)')
    .option('-t, --table <name>', 'the table to read (default: all, for which the token needs org:audit)')
    .option('--write', 'also send some hundred messages, into tables named conformance_...')
    .option('--slow', 'also what takes a minute or megabytes')
    .option(
      '--restricted-token <token>',
      'a second token, with search:read only and for a device group, or @file (default: $WATTLINE_RESTRICTED_TOKEN)',
    )
    .option('--foreign-workgroup <id>', 'a workgroup that exists and that the token gives no access to')
    .option('--socket-path <path>', 'where socket.io is', SOCKET_PATH)
    .option('--no-socket', 'leave socket.io out')
    .option('--only <ids>', 'only these rules, or those whose ids begin so: offset,limit.invalid', (ids) =>
      ids.split(',').filter(Boolean),
    )
    .option('--list', 'print the rules and check nothing')
    .addHelpText('after', help)
    .action((url: string | undefined, options: ConformanceOptions) =>
      runWithoutConfig(command, terminal, async (service) => {
        const { rules } = await import('../../conformance/all-rules.ts');
        const picked = pick(rules, options.only);
        if (options.list) {
          const data = picked.map(({ id, says, source, needs = [] }) => ({ id, says, source, needs }));
          printData(command, terminal, data, () => picked.map(describeRule).join(''));
        } else await check(command, readTarget(url, options, terminal), picked, service);
      }),
    );
}

async function check(
  command: Command,
  target: Target,
  rules: readonly Rule[],
  service: Service,
): Promise<void> {
  const { terminal, signal } = service;
  const { createProbe } = await import('../../conformance/probe.ts');
  const { preflight } = await import('../../conformance/preflight.ts');
  const { checkRules } = await import('../../conformance/run-conformance.ts');
  const isJson = globalOptions(command).json ?? false;
  const shownAs = (token: string) => tokenShownAs(target, token);
  const startedMs = performance.now();
  const findings: Finding[] = [];
  const probe = createProbe(target, signal);
  try {
    await preflight(probe);
    printNote(
      command,
      terminal,
      `checking ${rules.length} rules at ${target.url}, workgroup ${target.workgroup}, table ${probe.table}`,
    );
    for await (const finding of checkRules(rules, probe, signal)) {
      findings.push(finding);
      if (!isJson) terminal.out(visibleLines(describeFinding(findingData(finding, shownAs))));
    }
  } finally {
    await probe.close();
  }
  const summary = summarize(findings, performance.now() - startedMs);
  const data = { ...summary, rules: findings.map((finding) => findingData(finding, shownAs)) };
  printData(command, terminal, data, () => describeSummary(summary));
  if (summary.failed > 0)
    throw new TerminalError('NotConforming', `${target.url} does not keep ${summary.failed} of the rules`);
  if (findings.length < rules.length)
    throw new TerminalError('Interrupted', `ended after ${findings.length} of ${rules.length} rules`);
}

function summarize(findings: readonly Finding[], tookMs: number): ConformanceSummary {
  const count = (wanted: Finding['result']) => findings.filter(({ result }) => result === wanted).length;
  const seconds = Math.round(tookMs / 100) / 10;
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip'), seconds };
}

/** @throws InputError for a rule that there is not */
function pick(rules: readonly Rule[], only: readonly string[] | undefined): readonly Rule[] {
  if (only === undefined) return rules;
  const unknown = only.filter((start) => !rules.some(({ id }) => id.startsWith(start)));
  if (unknown.length > 0)
    throw new InputError(
      'the command line',
      unknown.map((start) => ({
        path: '--only',
        message: `no rule begins with "${start}"; --list shows them`,
      })),
    );
  return rules.filter(({ id }) => only.some((start) => id.startsWith(start)));
}

/** @throws InputError with everything that is missing or cannot be read */
function readTarget(url: string | undefined, options: ConformanceOptions, terminal: Terminal): Target {
  const problems: Problem[] = [];
  const secret = (path: string, text: string | undefined): string | undefined => {
    if (!text?.startsWith('@')) return text || undefined;
    try {
      return readFileSync(resolve(terminal.cwd, text.slice(1)), 'utf8').trim();
    } catch (error) {
      problems.push({ path, message: `cannot be read: ${errorMessage(error)}` });
      return undefined;
    }
  };
  const { environment } = terminal;
  const token = secret('--token', options.token ?? environment.WATTLINE_TOKEN);
  const restrictedToken = secret(
    '--restricted-token',
    options.restrictedToken ?? environment.WATTLINE_RESTRICTED_TOKEN,
  );
  if (url === undefined || !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    problems.push({ path: 'url', message: 'give the address of a server, such as http://127.0.0.1:8080' });
  if (!options.workgroup) problems.push({ path: '--workgroup', message: 'give the workgroup to read' });
  if (token === undefined && problems.every(({ path }) => path !== '--token'))
    problems.push({
      path: '--token',
      message: 'give a token, as @file or in $WATTLINE_TOKEN if it is to stay secret',
    });
  if (problems.length > 0) throw new InputError('the command line', problems);
  return {
    url: url!,
    workgroup: options.workgroup!,
    table: options.table,
    token: token!,
    restrictedToken,
    foreignWorkgroup: options.foreignWorkgroup,
    write: options.write ?? false,
    slow: options.slow ?? false,
    socketPath: options.socket ? options.socketPath : undefined,
  };
}

const help = `
Prints PASS, FAIL or SKIP for each rule: what it says and where it stands and, where it fails, what was seen instead and
the request as a command, in which tokens stand as variables. Sends at most a thousand requests, one after another, and
nothing but reads without --write.

--write      sends messages of a device of its own into tables named conformance_<random>, which age out with the stream
--slow       waits of 15 and 20 s and, with --write, 10,000 messages and 9 MiB to come to the limits of an answer
Exit code    0 every rule that was checked holds, 1 one does not, 2 wrong input, 3 the server cannot be reached

Examples:
  wattline conformance http://127.0.0.1:8080 --workgroup home --token @reader.token --table solar
  WATTLINE_TOKEN=$(cat all.token) wattline conformance https://stream.example.com -w plant-7 --write --slow
  wattline conformance http://127.0.0.1:8080 -w home --only offset,limit.invalid --json | jq '.rules[] | select(.result == "fail")'
  wattline conformance --list`;
