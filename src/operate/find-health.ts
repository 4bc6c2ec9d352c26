import { formatCount, formatCountOf } from '../lib/format-count.ts';
import { formatInstant, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import type { StatusFinding } from './status-schema.ts';
import { statusStages, type WorkgroupState } from './workgroup-state.ts';

/** One state with its reason: the worst of the findings. */
interface WorkgroupHealth {
  health: 'good' | 'attention' | 'bad';
  reason: string;
  /** Worst first. */
  findings: StatusFinding[];
}

/** A delay that people should know of. A publication takes seconds. */
const LAG_NOTED_MS = 5 * MINUTE_MS;
const FINDINGS_MAX = 100;
const ranks: Readonly<Record<StatusFinding['severity'], number>> = { bad: 0, attention: 1, note: 2 };

export function findHealth(state: WorkgroupState): WorkgroupHealth {
  const findings = [
    ...workerFindings(state),
    ...stageFindings(state),
    ...dataFindings(state),
    ...taskFindings(state),
  ].sort((a, b) => ranks[a.severity] - ranks[b.severity]);
  const [worst] = findings;
  const health = worst?.severity === 'bad' ? 'bad' : worst?.severity === 'attention' ? 'attention' : 'good';
  const reason = health === 'good' ? goodReason(state) : worst!.message;
  return { health, reason, findings: findings.slice(0, FINDINGS_MAX) };
}

function goodReason({ state }: WorkgroupState): string {
  return state === 'hibernated'
    ? 'all is well; nothing is to be done, so the data are closed until something arrives'
    : 'all is well';
}

function finding(
  severity: StatusFinding['severity'],
  about: StatusFinding['about'],
  message: string,
  more: { sinceMs?: number | undefined; path?: string } = {},
): StatusFinding {
  const since = more.sinceMs === undefined ? null : formatInstant(more.sinceMs);
  return { severity, about, message, since, path: more.path ?? null };
}

function workerFindings({ state, updatedAtMs, troubles }: WorkgroupState): StatusFinding[] {
  const findings = troubles.map(({ stage, message, sinceMs }) =>
    finding('bad', stage === 'export' || stage === 'input' ? stage : 'stage', message, { sinceMs }),
  );
  if (state === 'never run')
    return [
      ...findings,
      finding('bad', 'worker', 'no worker has run for this workgroup yet; start one with "wattline up"'),
    ];
  if (state === 'stopped') {
    const message = 'no worker runs for this workgroup, so new messages are not read; start one';
    return [...findings, finding('bad', 'worker', message, { sinceMs: updatedAtMs })];
  }
  return findings;
}

function stageFindings(state: WorkgroupState): StatusFinding[] {
  if (state.state === 'stopped') return [];
  const failing = statusStages.flatMap((stage) => {
    const { lastError, failingSinceMs } = state[stage];
    const isTrouble = state.troubles.some((one) => one.stage === stage);
    if (!lastError || isTrouble) return [];
    return [finding('attention', 'stage', `${stage}: ${lastError.message}`, { sinceMs: failingSinceMs })];
  });
  const { lagSeconds } = state;
  if (lagSeconds === undefined || lagSeconds * SECOND_MS < LAG_NOTED_MS) return failing;
  const minutes = Math.round((lagSeconds * SECOND_MS) / MINUTE_MS);
  return [...failing, finding('attention', 'lag', `the work is ${minutes} minutes behind the stream`)];
}

function dataFindings({ problems, gaps, quarantined, lastHour, devices }: WorkgroupState): StatusFinding[] {
  const offline = devices?.offline ?? 0;
  return [
    ...problems.map(({ path, message }) => finding('attention', 'problem', message, { path })),
    ...(gaps > 0
      ? [finding('attention', 'gap', `${formatCountOf(gaps, 'gap')} of the stream could not be read`)]
      : []),
    ...(offline > 0
      ? [finding('attention', 'device', `${formatCountOf(offline, 'device is', 'devices are')} offline`)]
      : []),
    ...(lastHour && lastHour.quarantined > 0
      ? [
          finding(
            'attention',
            'quarantine',
            `${formatCountOf(lastHour.quarantined, 'message')} of the last hour could not be read`,
          ),
        ]
      : quarantined > 0
        ? [
            finding(
              'note',
              'quarantine',
              quarantined === 1
                ? 'one message or reading was received and not used'
                : `${formatCount(quarantined)} messages or readings were received and not used`,
            ),
          ]
        : []),
  ];
}

function taskFindings({ imports, exports }: WorkgroupState): StatusFinding[] {
  return [
    ...imports.map((listed) => {
      const name = fileName(listed.path);
      const sinceMs = listed.updatedAtMs;
      if (listed.isUnderWay) return finding('note', 'import', `${name} is being imported`);
      return listed.state === 'landing'
        ? finding('attention', 'import', `the import of ${name} has stopped; import it again to continue`, {
            sinceMs,
          })
        : finding('attention', 'import', `the import of ${name} was given up; import it again`, { sinceMs });
    }),
    ...exports.flatMap(({ id, troubled, outdated }) => [
      ...troubled
        .slice(-1)
        .map((run) =>
          finding('attention', 'export', `export ${id}, ${run.period}: ${run.lastError!.message}`),
        ),
      ...(outdated > 0
        ? [
            finding(
              'note',
              'export',
              `the data of ${formatCountOf(outdated, 'file')} of export ${id} have changed after delivery`,
            ),
          ]
        : []),
    ]),
  ];
}

/** The last part of a path. Paths of the server are not for readers of HTTP. */
export function fileName(path: string): string {
  return path.split(/[\\/]/).at(-1) || path;
}
