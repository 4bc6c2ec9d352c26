import { formatCount, formatCountOf } from '../../lib/format-count.ts';
import type { UtcMs } from '../../lib/time.ts';
import type { WorkgroupStatus } from '../../pipeline/workgroup-status.ts';
import type { Site } from '../../simulate/create-site.ts';
import { formatTable } from '../terminal/format-table.ts';
import type { DayComparison } from './demo-days.ts';

/** The results of the demo. */
export interface DemoSummary {
  seconds: number;
  sent: number;
  landed: number;
  generation: number | undefined;
  /** Ended simulated days, as reported and as generated. */
  days: DayComparison[];
}

export interface DemoState {
  nowMs: UtcMs;
  timezone: string;
  status: WorkgroupStatus | undefined;
  energyWh: Record<string, number>;
  /** A table of all series instead of one line. */
  wide: boolean;
}

export function describeStart(facts: {
  url: string;
  token: string;
  dataDir: string;
  workgroup: string;
  site: Site;
}): string {
  const { url, token, dataDir, workgroup, site } = facts;
  return `Wattline demo: ${site.devices.length} simulated devices (${site.devices.map(({ name }) => name).join(', ')}), days of ${site.timezone}

  Report   ${url}/api/v1/orgs/${workgroup}/daily-energy
  Stream   ${url}/api/v1/tables/${workgroup}/-/latest
  API      ${url}/docs
  Lake     ${dataDir}/lake/${workgroup}/current/analytics.duckdb

  Page     ${url}/#token=${token}

  TOKEN=${token}
  curl -H "Authorization: Bearer $TOKEN" "${url}/api/v1/orgs/${workgroup}/daily-energy?groupBy=source"

`;
}

export function describeState({ nowMs, timezone, status, energyWh, wide }: DemoState): string {
  const { poll, publish } = status ?? { poll: undefined, publish: undefined };
  const lag = poll?.lagMessages === undefined ? '?' : formatCountOf(poll.lagMessages, 'message');
  const seconds = poll?.lagSeconds === undefined ? '' : `, ${poll.lagSeconds} s`;
  const line = `${new Date(nowMs).toLocaleTimeString('sv', { timeZone: timezone })}  landed ${formatCount(poll?.messages ?? 0)}  lag ${lag}${seconds}  generation ${publish?.generation ?? '-'}`;
  const total = Object.values(energyWh).reduce((sum, wh) => sum + wh, 0);
  if (!wide) return `${line}  today ${formatCount(total)} Wh in ${Object.keys(energyWh).length} series\n`;
  return `${line}\n\n${formatTable(columns, Object.entries(energyWh))}`;
}

const columns = [
  { title: 'Today (device.source)', value: ([key]: [string, number]) => key },
  { title: 'Wh', value: ([, wh]: [string, number]) => formatCount(wh), align: 'right' as const },
];

export function describeDemo({ seconds, sent, landed, generation, days }: DemoSummary): string {
  const lines = days.map(({ day, series, reportedWh, generatedWh, different }) => {
    const verdict =
      different.length === 0 ? 'equal' : `${different.length} series differ: ${different.join('; ')}`;
    return `  ${day}  ${formatCount(reportedWh)} Wh reported, ${formatCount(generatedWh)} Wh generated, ${series} series: ${verdict}`;
  });
  return `
${formatCountOf(sent, 'message')} sent and ${formatCount(landed)} landed in ${seconds} s, ${formatCountOf(generation ?? 0, 'generation')} published.
${lines.length > 0 ? `Simulated days that have ended:\n${lines.join('\n')}` : 'No simulated day has ended yet: use a larger --seconds.'}
`;
}
