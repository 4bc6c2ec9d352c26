import { LRUCache } from 'lru-cache';
import { TerminalError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json-text.ts';
import type {
  AnsweredRow,
  BudgetData,
  BudgetDetails,
  DailyEnergyDetails,
  EnergyByDay,
  Explanation,
  GapList,
  MeterData,
  MeterDetails,
  QualityByDay,
  ServiceStatus,
  StateByDevice,
  WorkgroupFacts,
} from './client-answers.ts';
import { readAnswer } from './read-answer.ts';
import { type RowReport, readReportRows } from './read-report-rows.ts';
import { createReportRequest, type Parameters, type ReportRequestOptions } from './report-request.ts';

/**
 * The days of a question, as `YYYY-MM-DD`; both ends are included. Default: yesterday in the workgroup's time
 * zone.
 */
interface Days {
  startDate?: string;
  endDate?: string;
  /** Waits until the message at this offset is in the answer: the `lastOffset` of the answer to a sender. */
  after?: bigint | string;
}
export interface DayQuestion extends Days {
  /** Ids or configured names. Default: all that the token can see. */
  devices?: readonly string[];
  /** With `source`, a key of the answer is `<deviceId>.<source>`. */
  groupBy?: 'source';
}
export interface EnergyQuestion extends DayQuestion {
  /** Adds up the days of the range. Default: day. */
  resolution?: 'day' | 'month' | 'year';
  /** Only so many devices or sources, those with the most energy, and the sum of the rest as `others`. */
  top?: number;
}
export interface MeterQuestion extends Days {
  startDate: string;
  endDate: string;
  meterCodes?: readonly string[];
  timezone?: string;
}
export interface BudgetQuestion extends MeterQuestion {
  scenario?: string;
}
export interface ExplainQuestion {
  /** Its id or its configured name. */
  device: string;
  day: string;
  source?: string;
}
export interface CallOptions {
  signal?: AbortSignal;
}

/** The reports of a workgroup. Every method throws as `createReportClient` says. */
export interface ReportClient {
  workgroup(options?: CallOptions): Promise<WorkgroupFacts>;
  dailyEnergy(question?: EnergyQuestion, options?: CallOptions): Promise<EnergyByDay>;
  dailyEnergyDetails(question?: DayQuestion, options?: CallOptions): Promise<DailyEnergyDetails>;
  explain(question: ExplainQuestion, options?: CallOptions): Promise<Explanation>;
  meterData(question: MeterQuestion, options?: CallOptions): Promise<MeterData>;
  meterDetails(question: MeterQuestion, options?: CallOptions): Promise<MeterDetails>;
  budgetData(question: BudgetQuestion, options?: CallOptions): Promise<BudgetData>;
  budgetDetails(question: BudgetQuestion, options?: CallOptions): Promise<BudgetDetails>;
  quality(question?: Omit<DayQuestion, 'groupBy'>, options?: CallOptions): Promise<QualityByDay>;
  deviceStatus(question?: { devices?: readonly string[] }, options?: CallOptions): Promise<StateByDevice>;
  /** Only for tokens without device groups. */
  status(options?: CallOptions): Promise<ServiceStatus>;
  /** Open gaps of the stream. Only for tokens without device groups. */
  gaps(options?: CallOptions): Promise<GapList>;
  /** The rows of a report one after the other, also of several pages. Only a chunk of them is in memory. */
  rows(report: RowReport, question?: Parameters, options?: CallOptions): AsyncGenerator<AnsweredRow, void>;
}

/** Answers that are remembered with their ETag, and their text in all. */
const REMEMBERED_ANSWERS_MAX = 64;
const REMEMBERED_CHARACTERS_MAX = 8 * 1024 * 1024;

/**
 * Creates a client for the reports of a workgroup. It holds no connection and needs no closing. An answer
 * that has not changed is not sent again.
 * @throws TransientError after the last attempt (network, time, 429, 503); TerminalError if a repetition
 *   cannot help. Both have `code` and `details`, never the token. The signal's reason if it aborts
 */
export function createReportClient(options: ReportRequestOptions): ReportClient {
  const request = createReportRequest(options);
  const remembered = new LRUCache<string, { etag: string; text: string }>({
    max: REMEMBERED_ANSWERS_MAX,
    maxSize: REMEMBERED_CHARACTERS_MAX,
    sizeCalculation: ({ text }) => Math.max(1, text.length),
  });

  async function ask<Answer>(
    path: string,
    parameters: Parameters = {},
    { signal }: CallOptions = {},
  ): Promise<Answer> {
    // A wait for a message does not change which answer it is.
    const { after: _, ...lasting } = parameters;
    const key = JSON.stringify([path, lasting]);
    const known = remembered.get(key);
    const text = await request.send(path, parameters, {
      headers: { accept: 'application/json', ...(known && { 'if-none-match': known.etag }) },
      signal,
      async read(response) {
        if (response.status === 304 && known) return known.text;
        const body = await readAnswer(response, request.bytesMax);
        const etag = response.headers.get('etag');
        if (etag !== null) remembered.set(key, { etag, text: body });
        return body;
      },
    });
    return parsed<Answer>(text, path);
  }

  return {
    workgroup: (to) => ask('workgroup', {}, to),
    dailyEnergy: (question, to) => ask('daily-energy', { ...question }, to),
    dailyEnergyDetails: (question, to) => ask('daily-energy/details', { ...question }, to),
    explain: (question, to) => ask('daily-energy/explain', { ...question }, to),
    meterData: (question, to) => ask('meter-data', { ...question }, to),
    meterDetails: (question, to) => ask('meter-data/details', { ...question }, to),
    budgetData: (question, to) => ask('budget-data', { ...question }, to),
    budgetDetails: (question, to) => ask('budget-data/details', { ...question }, to),
    quality: (question, to) => ask('quality', { ...question }, to),
    deviceStatus: (question, to) => ask('device-status', { ...question }, to),
    status: (to) => ask('status', {}, to),
    gaps: (to) => ask('gaps', {}, to),
    rows: (report, question = {}, to = {}) => readReportRows(request, report, question, to.signal),
  };
}

function parsed<Answer>(text: string, path: string): Answer {
  const value = tryParseJson(text);
  if (typeof value === 'object' && value !== null) return value as Answer;
  throw new TerminalError(
    'InvalidAnswer',
    `GET ${path}: the answer is not JSON of a report; check that url leads to Wattline`,
  );
}
