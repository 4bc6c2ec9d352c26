import { Pool } from 'undici';
import { permissions } from '../../access/grant.ts';
import { decodeCbor, encodeCbor } from '../../cbor/cbor-codec.ts';
import { type ExchangeTimeouts, exchange } from '../../client/exchange.ts';
import { createRestSource } from '../../client/rest-source.ts';
import { type Config, configSchema, type WorkgroupConfig } from '../../config/config.ts';
import { limits } from '../../contract/wire-limits.ts';
import type { ExplainArgs, Explained } from '../../explain/explained-schema.ts';
import { errorMessage, InputError, TerminalError } from '../../lib/errors.ts';
import { addDays, DAY_MS, type LocalDate, localDateOf, MINUTE_MS, type UtcMs } from '../../lib/time.ts';
import { assignmentOf } from '../../pipeline/assignment.ts';
import { createPipeline, type Pipeline } from '../../pipeline/pipeline.ts';
import { pollSlice } from '../../pipeline/poll-slice.ts';
import type { Service } from '../../service/service.ts';
import { startRoles } from '../../service/start-roles.ts';
import { inTempFolder } from '../temp-folder.ts';
import { type ComparedDay, compareDays } from './expected-days.ts';
import type { CaseReading, ReplayCase } from './read-cases.ts';

/** The result of a case. Energy in Wh. */
export interface ReplayResult {
  days: Record<LocalDate, Record<string, number>>;
  bySource: Record<LocalDate, Record<string, number>>;
  /** Quality flags of each day, by device and source. */
  flags: Record<LocalDate, Record<string, string[]>>;
  /**
   * What could not be computed: a series, or the whole case (series is null). Other series have their energy.
   */
  failed: Array<{ series: string | null; field?: string; error: string }>;
  /** Messages that the stream accepted, and quarantined readings or messages, in all and by reason. */
  messages: number;
  rejected: number;
  rejectedByReason: Record<string, number>;
  /** The comparison with expected.csv, the largest difference first. */
  compared?: ComparedDay[];
  seconds: number;
}

/** The progress of a case. `part` is 0 to 1, and undefined if it is not known. */
export type ReplayProgress = { name: string; part?: number | undefined } & (
  | { phase: 'sending' | 'landing'; messages: number }
  | { phase: 'computing' }
);

/** Called for each case while its warehouse is open, so that days can be explained. */
type OnReplayed = (
  name: string,
  result: ReplayResult,
  explain: (args: ExplainArgs) => Promise<Explained>,
) => void | Promise<void>;

const timeouts: ExchangeTimeouts = { headersMs: MINUTE_MS, bodyMs: MINUTE_MS, totalMs: 2 * MINUTE_MS };
const ITEMS_PER_REQUEST = 5_000;
const REPORT_DAYS_MAX = 1_800;

/**
 * Runs cases through the whole pipeline in a temporary folder: ingest, stream, poll, land, roll up, publish
 * and report, one case after another.
 */
export async function replayCases(
  cases: readonly ReplayCase[],
  service: Service,
  onReplayed: OnReplayed,
  onProgress: (progress: ReplayProgress) => void = () => undefined,
): Promise<void> {
  await inTempFolder('replay', service, (dataDir) =>
    replayIn(dataDir, cases, service, { onReplayed, onProgress }),
  );
}

async function replayIn(
  dataDir: string,
  cases: readonly ReplayCase[],
  service: Service,
  { onReplayed, onProgress }: { onReplayed: OnReplayed; onProgress: (progress: ReplayProgress) => void },
): Promise<void> {
  const config: Config = {
    ...configSchema.parse({
      dataDir,
      http: { port: 0 },
      limits: { requestsPerMinute: 1_000_000 },
      stream: { retention: '30d' },
    }),
    workgroups: cases.map(({ workgroup }, index) => ({ ...workgroup, id: `case-${index + 1}` })),
  };
  const running = await startRoles(config, ['stream', 'report'], service);
  const pipeline = createPipeline({ logLevel: 'warn', logger: service.logger });
  const pool = new Pool(running.url!, { connections: 2 });
  try {
    for (const [index, parsedCase] of cases.entries()) {
      service.signal.throwIfAborted();
      const workgroup = config.workgroups[index]!;
      const scopes = { [workgroup.id]: { permissions: [...permissions] } };
      const { token } = await running.access.issue(
        { subject: 'replay', scopes, lifetimeMs: DAY_MS },
        { unlisted: true },
      );
      const server = { pool, url: running.url!, token, workgroupId: workgroup.id };
      const startedMs = performance.now();
      try {
        const result = await replayCase(parsedCase, {
          server,
          pipeline,
          config,
          workgroup,
          service,
          onProgress,
        });
        const seconds = Math.round(performance.now() - startedMs) / 1_000;
        await onReplayed(parsedCase.name, { ...result, seconds }, (args) =>
          pipeline.run(workgroup.id, 'explain', args),
        );
      } catch (error) {
        // A wrong case is part of the results. An interruption ends all cases.
        if (error instanceof InputError || service.signal.aborted) throw error;
        const failed = [{ series: null, error: errorMessage(error) }];
        await onReplayed(parsedCase.name, { ...nothing, failed }, (args) =>
          pipeline.run(workgroup.id, 'explain', args),
        );
      }
      await pipeline.closeShard(workgroup.id);
    }
  } finally {
    await pool.destroy();
    await pipeline.close();
    await running.stop();
  }
}

/** The result of a case that fails as a whole. */
const nothing = {
  days: {},
  bySource: {},
  flags: {},
  messages: 0,
  rejected: 0,
  rejectedByReason: {},
  seconds: 0,
};

async function replayCase(
  parsedCase: ReplayCase,
  parts: {
    server: Server;
    pipeline: Pipeline;
    config: Config;
    workgroup: WorkgroupConfig;
    service: Service;
    onProgress: (progress: ReplayProgress) => void;
  },
): Promise<Omit<ReplayResult, 'seconds'>> {
  const { server, pipeline, config, workgroup, service, onProgress } = parts;
  const { name, expected } = parsedCase;
  const sent = await sendReadings(server, parsedCase, onProgress);
  await pipeline.open(assignmentOf(config, workgroup));
  let landed = 0;
  await landStream(server, pipeline, service.signal, (messages) => {
    landed += messages;
    onProgress({ name, phase: 'landing', messages: landed, part: landed / Math.max(1, sent.messages) });
  });
  onProgress({ name, phase: 'computing' });
  for (let more = true; more; ) ({ more } = await pipeline.run(workgroup.id, 'rollUp', undefined));
  await pipeline.run(workgroup.id, 'publish', undefined);
  const status = await pipeline.run(workgroup.id, 'status', undefined);
  const report = await readReport(server, sent, workgroup.timezone);
  return {
    ...report,
    ...(expected && { compared: compareDays(expected, report.bySource) }),
    failed: status.setAside.map(({ device, source, field, error }) => ({
      series: `${device}.${source}`,
      field,
      error,
    })),
    messages: sent.messages,
    rejected: status.quarantined,
    rejectedByReason: status.quarantinedByReason,
  };
}

interface Server {
  pool: Pool;
  url: string;
  token: string;
  workgroupId: string;
}

interface Sent {
  messages: number;
  firstMs: UtcMs | undefined;
  lastMs: UtcMs | undefined;
}

/** Posts the readings in their order. Each request has one table. */
async function sendReadings(
  server: Server,
  { name, readings }: ReplayCase,
  onProgress: (progress: ReplayProgress) => void,
): Promise<Sent> {
  let part: number | undefined;
  const sent: Sent = { messages: 0, firstMs: undefined, lastMs: undefined };
  let waiting: CaseReading[] = [];
  const send = async () => {
    if (waiting.length === 0) return;
    const items = waiting.map(({ device, source, eventTimeMs, data }) => ({
      device,
      source,
      event_time: eventTimeMs,
      data,
    }));
    const path = `/api/v1/tables/${server.workgroupId}/${waiting[0]!.table}/messages`;
    const headers = { 'content-type': 'application/cbor' };
    const answer = await request(server, {
      method: 'POST',
      path,
      headers,
      body: Buffer.from(encodeCbor(items)),
    });
    if (answer.status !== 200) throw refusedError(`case ${name}`, sent.messages, answer.bytes);
    sent.messages += waiting.length;
    waiting = [];
    onProgress({ name, phase: 'sending', messages: sent.messages, part });
  };
  const read = readings((now) => {
    part = now;
  });
  for await (const reading of read) {
    if (waiting.length >= ITEMS_PER_REQUEST || (waiting.length > 0 && waiting[0]!.table !== reading.table))
      await send();
    waiting.push(reading);
    sent.firstMs = Math.min(sent.firstMs ?? reading.eventTimeMs, reading.eventTimeMs);
    sent.lastMs = Math.max(sent.lastMs ?? reading.eventTimeMs, reading.eventTimeMs);
  }
  await send();
  return sent;
}

/** Converts places in the request to places in the file. */
function refusedError(what: string, before: number, bytes: Uint8Array): TerminalError {
  const body = decodeCbor(bytes) as {
    message?: string;
    items?: Array<{ index: number; field: string; reason: string }>;
  };
  const items = body.items
    ?.slice(0, 10)
    .map(({ index, field, reason }) => `  reading ${before + index + 1}: ${field} ${reason}`);
  const lines = [`the stream rejected readings of ${what}: ${body.message}`, ...(items ?? [])];
  return new TerminalError('ReadingsRefused', lines.join('\n'));
}

/** Lands all messages of the stream. @param onLanded called with the number of messages of each slice */
async function landStream(
  server: Server,
  pipeline: Pipeline,
  signal: AbortSignal,
  onLanded: (messages: number) => void,
): Promise<void> {
  const { url, workgroupId, token } = server;
  const source = createRestSource({ url, workgroup: workgroupId, token });
  try {
    for (let upToDate = false; !upToDate; ) {
      const slice = await pollSlice({ pipeline, source, workgroupId, signal, waitSeconds: 0 });
      ({ upToDate } = slice);
      onLanded(slice.messages);
    }
  } finally {
    await source.close();
  }
}

/**
 * The report of all days of the readings, by device and by source, with flags. Days without energy are left
 * out.
 */
async function readReport(
  server: Server,
  { firstMs, lastMs }: Sent,
  timezone: string,
): Promise<Pick<ReplayResult, 'days' | 'bySource' | 'flags'>> {
  if (firstMs === undefined || lastMs === undefined) return { days: {}, bySource: {}, flags: {} };
  const firstDay = addDays(localDateOf(firstMs, timezone), -1);
  const lastDay = addDays(localDateOf(lastMs, timezone), 1);
  const read = <Value>(report: string) => readDays<Value>(server, report, { firstDay, lastDay });
  const details = await read<{ energyWh: number; flags: string[] }>('/details?groupBy=source&');
  return {
    days: await read<number>('?'),
    bySource: mapDays(details, ({ energyWh }) => energyWh),
    flags: mapDays(details, ({ flags }) => flags),
  };
}

type ByDay<Value> = Record<LocalDate, Record<string, Value>>;

function mapDays<From, To>(days: ByDay<From>, to: (value: From) => To): ByDay<To> {
  return Object.fromEntries(
    Object.entries(days).map(([day, series]) => [
      day,
      Object.fromEntries(Object.entries(series).map(([key, value]) => [key, to(value)])),
    ]),
  );
}

async function readDays<Value>(
  server: Server,
  report: string,
  { firstDay, lastDay }: { firstDay: LocalDate; lastDay: LocalDate },
): Promise<ByDay<Value>> {
  const byDay: ByDay<Value> = {};
  for (let from = firstDay; from <= lastDay; ) {
    const to = [addDays(from, REPORT_DAYS_MAX), lastDay].sort()[0]!;
    const path = `/api/v1/orgs/${server.workgroupId}/daily-energy${report}startDate=${from}&endDate=${to}`;
    const { status, bytes } = await request(server, { method: 'GET', path, headers: {} });
    const text = Buffer.from(bytes).toString();
    if (status !== 200)
      throw new TerminalError(
        'ReportFailed',
        `the report answered with status ${status}: ${text.slice(0, 500)}`,
      );
    for (const [day, series] of Object.entries(JSON.parse(text) as ByDay<Value>)) {
      if (Object.keys(series).length > 0) byDay[day] = series;
    }
    from = addDays(to, 1);
  }
  return byDay;
}

function request(
  { pool, url, token }: Server,
  call: { method: 'GET' | 'POST'; path: string; headers: Record<string, string>; body?: Buffer },
) {
  const headers = { ...call.headers, authorization: `Bearer ${token}` };
  return exchange(pool, { ...call, origin: url, headers }, { timeouts, bytesMax: 32 * limits.readBytesMax });
}
