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
import { commandLineErrors } from '../command-line-error.ts';
import { globalOptions } from '../global-options.ts';
import { runWithoutConfig } from '../run-service.ts';
import { printData, printNote } from '../terminal/output.ts';
import {
  type ConformanceSummary,
  describeConformance,
  describeFinding,
  describeRule,
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
    .description('check if a server follows the rules of the stream contract')
    .argument('[url]', 'the address of the server, without /api/v1/...')
    .option('-w, --workgroup <id>', 'the workgroup to read')
    .option('--token <token>', 'a token of the workgroup, or @file (default: $WATTLINE_TOKEN)')
    .option('-t, --table <name>', 'the table to read (default: all; this needs a token with org:audit)')
    .option('--write', 'also send a few hundred messages to tables named conformance_...')
    .option('--slow', 'also check rules that take a minute or megabytes')
    .option(
      '--restricted-token <token>',
      'a second token, with search:read only and for a device group, or @file (default: $WATTLINE_RESTRICTED_TOKEN)',
    )
    .option('--foreign-workgroup <id>', 'an existing workgroup that the token has no access to')
    .option('--socket-path <path>', 'the path of socket.io', SOCKET_PATH)
    .option('--no-socket', 'do not check socket.io')
    .option('--only <ids>', 'only rules with these ids or beginnings of ids: offset,limit.invalid', (ids) =>
      ids.split(',').filter(Boolean),
    )
    .option('--list', 'list the rules, and check nothing')
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
  const { runConformance } = await import('../../conformance/run-conformance.ts');
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
    for await (const finding of runConformance(rules, probe, signal)) {
      findings.push(finding);
      if (!isJson) terminal.out(visibleLines(describeFinding(findingData(finding, shownAs))));
    }
  } finally {
    await probe.close();
  }
  const summary = summarize(findings, performance.now() - startedMs);
  const data = { ...summary, rules: findings.map((finding) => findingData(finding, shownAs)) };
  printData(command, terminal, data, () => describeConformance(summary));
  if (summary.failed > 0)
    throw new TerminalError(
      'NotConforming',
      `${target.url} breaks ${summary.failed} of the rules; the lines that begin with FAIL say how`,
    );
  if (findings.length < rules.length)
    throw new TerminalError('Interrupted', `ended after ${findings.length} of ${rules.length} rules`);
}

function summarize(findings: readonly Finding[], tookMs: number): ConformanceSummary {
  const count = (wanted: Finding['result']) => findings.filter(({ result }) => result === wanted).length;
  const seconds = Math.round(tookMs / 100) / 10;
  return { passed: count('pass'), failed: count('fail'), skipped: count('skip'), seconds };
}

/** @throws InputError if no rule has the id */
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

/** @throws InputError with everything that is missing or unreadable */
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
      message: 'give a token; to keep it secret, use @file or $WATTLINE_TOKEN',
    });
  if (problems.length > 0) throw commandLineErrors(problems);
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
Prints PASS, FAIL or SKIP for each rule, with its text and its source. For a failed rule it also prints the observation and the request as a
command, with variables for tokens. Sends at most a thousand requests, one after another. Without --write it only reads.

--write      sends messages of its own device to tables named conformance_<random>; they leave the stream by its retention
--slow       waits for 15 and 20 s; with --write also sends 10,000 messages and 9 MiB to reach the limits of an answer
Exit code    0 all checked rules hold, 1 a rule is broken, 2 the input is wrong, 3 the server is not reachable

Examples:
  wattline conformance http://127.0.0.1:8080 --workgroup home --token @reader.token --table solar
  WATTLINE_TOKEN=$(cat all.token) wattline conformance https://stream.example.com -w plant-7 --write --slow
  wattline conformance http://127.0.0.1:8080 -w home --only offset,limit.invalid --json | jq '.rules[] | select(.result == "fail")'
  wattline conformance --list`;
