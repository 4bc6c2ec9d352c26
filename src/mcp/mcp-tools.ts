import type { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { daysBetween, daysFrom, isLocalDate } from '../lib/time.ts';
import type { AnsweredRow } from '../report-client/client-answers.ts';
import type { ReportClient } from '../report-client/report-client.ts';
import type { Parameters } from '../report-client/report-request.ts';
import { budgetLines, dayLines, periodLines, qualityLines } from './energy-lines.ts';
import { explanationLines, linesText } from './mcp-words.ts';

/** The days of one question about days, and about sums and quality. */
const TOOL_DAYS_MAX = 31;
const TOOL_RANGE_DAYS_MAX = 366;
/** Rows that one tool reads. */
const TOOL_ROWS_MAX = 20_000;

/** The reports of a workgroup with the rights of the caller. `undefined`: the only workgroup of the token. */
type OpenReports = (workgroup: string | undefined) => ReportClient;

const workgroup = z
  .string()
  .max(64)
  .optional()
  .describe('The workgroup. It may be left out if the token is for one workgroup only');
const day = z.string().max(10).refine(isLocalDate, 'must be a day that exists, such as 2026-11-20');
const range = {
  workgroup,
  startDate: day.describe('First day, YYYY-MM-DD, in the time zone of the workgroup'),
  endDate: day.describe('Last day, included'),
};
const devices = z
  .array(z.string().max(200))
  .max(100)
  .optional()
  .describe('Ids or names of devices. Default: all that the token can see');

/**
 * Registers the tools. All of them only read. Each asks the reports, so a caller learns only what a report
 * would tell it.
 */
export function registerMcpTools(server: McpServer, openReports: OpenReports): void {
  function tool<Shape extends z.ZodRawShape>(
    name: string,
    description: string,
    shape: Shape,
    answer: (reports: ReportClient, given: z.output<z.ZodObject<Shape>>) => Promise<readonly string[]>,
  ): void {
    const inputSchema = z.strictObject(shape);
    const annotations = { readOnlyHint: true, openWorldHint: false };
    server.registerTool(name, { description, inputSchema, annotations }, async (given) => {
      try {
        const input = given as z.output<z.ZodObject<Shape>>;
        const reports = openReports((input as { workgroup?: string }).workgroup);
        return { content: [{ type: 'text' as const, text: linesText(await answer(reports, input)) }] };
      } catch (error) {
        return { isError: true, content: [{ type: 'text' as const, text: linesText([refusalText(error)]) }] };
      }
    });
  }

  tool(
    'describe_workgroup',
    'The time zone, meters, sites and devices of a workgroup. Ask this first to learn the names.',
    { workgroup },
    async (reports) => {
      const [facts, states] = [await reports.workgroup(), await reports.deviceStatus()];
      return [
        `Workgroup ${facts.workgroup}, time zone ${facts.timezone}`,
        ...facts.meters.map(({ code, name }) => `Meter ${code}${name === undefined ? '' : `: ${name}`}`),
        ...facts.sites.map(({ name }) => `Site ${name}`),
        ...Object.entries(states).map(
          ([id, { name, state, lastSeen }]) =>
            `Device ${id}${name === undefined ? '' : `: ${name}`}, ${state}, newest data: ${lastSeen ?? 'unknown'}`,
        ),
      ];
    },
  );
  tool(
    'daily_energy',
    `Energy of each device, by day (at most ${TOOL_DAYS_MAX} days), or as sums of months or years (at most ${TOOL_RANGE_DAYS_MAX} days). Energy that is not known is "unknown", which is not 0.`,
    { ...range, devices, resolution: z.enum(['day', 'month', 'year']).optional() },
    async (reports, { startDate, endDate, devices: asked, resolution = 'day' }) => {
      checkDays(startDate, endDate, resolution === 'day' ? TOOL_DAYS_MAX : TOOL_RANGE_DAYS_MAX);
      const question = { startDate, endDate, devices: asked, resolution };
      const rows = await rowsOf(reports, 'daily-energy', question);
      if (resolution !== 'day') return rows.length === 0 ? [NOTHING] : periodLines(rows);
      const names = await namesOf(reports, asked, rows);
      return names.size === 0 ? [NOTHING] : dayLines(rows, daysFrom(startDate, endDate), names);
    },
  );
  tool(
    'explain_day',
    'How the energy of a device on a day was computed: the fields, the sum, flags with reasons, events, corrections and versions.',
    { workgroup, device: z.string().max(200).describe('Id or name of the device'), day },
    async (reports, { device, day: asked }) =>
      explanationLines(await reports.explain({ device, day: asked })),
  );
  tool(
    'data_quality',
    `How complete and reliable the energy of each device is, over at most ${TOOL_RANGE_DAYS_MAX} days.`,
    { ...range, devices },
    async (reports, { startDate, endDate, devices: asked }) => {
      checkDays(startDate, endDate, TOOL_RANGE_DAYS_MAX);
      const rows = await rowsOf(reports, 'quality', { startDate, endDate, devices: asked });
      const names = await namesOf(reports, asked, rows);
      return names.size === 0 ? [NOTHING] : qualityLines(rows, daysFrom(startDate, endDate), names);
    },
  );
  tool(
    'budgets',
    `Budgets of meters and their measured energy, over at most ${TOOL_RANGE_DAYS_MAX} days.`,
    { ...range, meterCodes: z.array(z.string().max(200)).max(100).optional() },
    async (reports, { startDate, endDate, meterCodes }) => {
      checkDays(startDate, endDate, TOOL_RANGE_DAYS_MAX);
      const question = { startDate, endDate, ...(meterCodes && { meterCodes }) };
      const lines = budgetLines(await reports.budgetData(question), await reports.meterData(question));
      return lines.length === 0 ? ['no meter has a budget or measured energy on these days'] : lines;
    },
  );
  tool(
    'service_status',
    'Whether the service works: its state, its delay, and what needs attention. Not for tokens of device groups.',
    { workgroup },
    async (reports) => {
      const {
        workgroup: id,
        state,
        health,
        reason,
        lagSeconds,
        newestReadingAt,
        findings,
      } = await reports.status();
      return [
        `Workgroup ${id}: ${state}, health ${health}: ${reason}`,
        `Delay: ${lagSeconds === null ? 'unknown' : `${lagSeconds} s`}; newest reading: ${newestReadingAt ?? 'unknown'}`,
        ...findings.map(({ severity, message }) => `${severity}: ${message}`),
      ];
    },
  );
  tool(
    'stream_gaps',
    'Ranges of the stream that could not be read. Not for tokens of device groups.',
    { workgroup },
    async (reports) => {
      const { gaps, total } = await reports.gaps();
      return [
        total === 0 ? 'no gap is open' : formatCountOf(total, 'gap is open', 'gaps are open'),
        ...gaps.map(
          ({ id, from, to, reason, available, note }) =>
            `Gap ${id}: from ${from ?? 'unknown'} to ${to ?? 'unknown'} (${reason}); the upstream still has: ${available}${note === null ? '' : `; ${note}`}`,
        ),
      ];
    },
  );
}

const NOTHING = 'the energy of these days is unknown for every device';

function checkDays(startDate: string, endDate: string, most: number): void {
  const days = daysBetween(startDate, endDate) + 1;
  if (days < 1 || days > most)
    throw new TerminalError(
      'InvalidRequest',
      `the range has ${Math.max(days, 0)} days; ask for 1 to ${most}`,
    );
}

async function rowsOf(
  reports: ReportClient,
  report: 'daily-energy' | 'quality',
  question: Parameters,
): Promise<AnsweredRow[]> {
  const rows: AnsweredRow[] = [];
  for await (const row of reports.rows(report, question)) {
    if (rows.length === TOOL_ROWS_MAX)
      throw new TerminalError(
        'TooManyRows',
        `there are more than ${TOOL_ROWS_MAX} rows; ask for fewer days or devices`,
      );
    rows.push(row);
  }
  return rows;
}

/** The names of the devices in the question, also of devices without energy. */
async function namesOf(
  reports: ReportClient,
  asked: readonly string[] | undefined,
  rows: readonly AnsweredRow[],
): Promise<Map<string, string>> {
  const states = await reports.deviceStatus(asked ? { devices: asked } : {});
  const names = new Map(Object.entries(states).map(([id, { name }]) => [id, name ?? id]));
  for (const { device, device_name: name } of rows) names.set(String(device), String(name ?? device));
  return names;
}

/** The texts for an assistant. Errors that are not ours have no details. */
function refusalText(error: unknown): string {
  const isOurs = error instanceof TerminalError || error instanceof TransientError;
  return isOurs ? errorMessage(error) : 'this could not be answered; ask again in a moment';
}
