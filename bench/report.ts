import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, listValue } from '@duckdb/node-api';
import { createAccess } from '../src/access/access.ts';
import { configSchema } from '../src/config/config.ts';
import { createWorkgroups } from '../src/config/workgroups.ts';
import { createHttpServer } from '../src/http/http-server.ts';
import { silentLogger } from '../src/lib/logger.ts';
import { HOUR_MS, systemClock } from '../src/lib/time.ts';
import { readHead } from '../src/publish/lake-commit.ts';
import { filePath, lakePaths } from '../src/publish/lake-layout.ts';
import { openLakeReader } from '../src/report/lake/lake-reader.ts';
import { registerReportRoutes } from '../src/report/report-routes.ts';
import { fillDays } from '../test/support/fill-days.ts';
import { median } from './statistics.ts';

export const WORKGROUP = 'bench';
export const DEVICES = 1_000;
const SOURCES = ['battery', 'grid', 'pv'];
/** The day that has 15-minute intervals. */
export const PROFILE_DAY = '2026-06-21';
export const THREADS = 2;
const ROUNDS = 9;

export interface ReportFigure {
  name: string;
  /** The time until the body is ready to be sent: authentication, the generation, the query, the JSON. */
  serverMs: number;
  /** The time until a client in the same process has read the whole body. */
  clientMs: number;
  bareMs: number;
  /** The server time, divided by the time of DuckDB alone. */
  ratio: number;
  bytes: number;
}

/**
 * The daily-energy report of a year of 1,000 devices with 3 sources each, over HTTP on loopback. For
 * comparison, DuckDB runs the bare query on the same files: the same rows in the same order, as its own
 * vectors, without JSON.
 */
export async function benchReport(print: (line: string) => void): Promise<ReportFigure[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'wattline-bench-'));
  const lakeDir = join(dataDir, 'lake');
  const clock = systemClock;
  try {
    await fillLake(dataDir, print);
    const access = await createAccess({ dataDir, issuer: 'bench', clock });
    const { token } = await access.issue({
      subject: 'bench',
      scopes: { [WORKGROUP]: { permissions: ['search:read'] } },
      lifetimeMs: HOUR_MS,
    });
    const lake = await openLakeReader({ lakeDir, threads: THREADS });
    const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 1_000_000 });
    const workgroups = createWorkgroups(configSchema.parse({ workgroups: [{ id: WORKGROUP }] }));
    let readyMs = 0;
    app.addHook('onSend', (_request, reply, _payload, done) => {
      readyMs = reply.elapsedTime;
      done();
    });
    const explain = async () => ({ kind: 'not-running' }) as const;
    registerReportRoutes(app, { access, lake, explain, workgroups, clock, logger: silentLogger });
    const base = await app.listen({ host: '127.0.0.1', port: 0 });
    const bare = await openBare(lakeDir);
    const figures: ReportFigure[] = [];
    const year = { start: '2026-01-01', end: '2026-12-31' };
    for (const [name, range, groupBy] of [
      ['a year by source', year, 'source'],
      ['a year by device', year, undefined],
      ['a month by source', { start: '2026-06-01', end: '2026-06-30' }, 'source'],
      ['a day by source', { start: '2026-06-15', end: '2026-06-15' }, 'source'],
    ] as const) {
      const url = `${base}/api/v1/orgs/${WORKGROUP}/daily-energy?startDate=${range.start}&endDate=${range.end}${groupBy ? `&groupBy=${groupBy}` : ''}`;
      const times = { server: [] as number[], client: [] as number[], bare: [] as number[] };
      let bytes = 0;
      // The two take turns, so that other work of the machine slows both.
      for (let round = 0; round < ROUNDS; round++) {
        times.client.push(
          await timed(async () => {
            bytes = await download(url, token);
          }),
        );
        times.server.push(readyMs);
        times.bare.push(await timed(() => bare.run(range, groupBy !== undefined)));
      }
      const figure = {
        name,
        serverMs: median(times.server),
        clientMs: median(times.client),
        bareMs: median(times.bare),
        ratio: 0,
        bytes,
      };
      figure.ratio = figure.serverMs / figure.bareMs;
      figures.push(figure);
      print(
        `report, ${name}: server ${figure.serverMs.toFixed(1)} ms, bare query ${figure.bareMs.toFixed(1)} ms, ratio ${figure.ratio.toFixed(2)}; ${(bytes / 1e6).toFixed(2)} MB, read after ${figure.clientMs.toFixed(1)} ms`,
      );
    }
    await app.close();
    await lake.close();
    bare.close();
    return figures;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A year of 1,000 devices with 3 sources each, below `dataDir`. */
export async function fillLake(dataDir: string, print: (line: string) => void): Promise<void> {
  const filled = {
    workgroupId: WORKGROUP,
    devices: DEVICES,
    sources: SOURCES,
    firstDay: '2026-01-01',
    days: 365,
    profileDay: PROFILE_DAY,
  };
  const ms = await fillDays(dataDir, filled);
  print(`publish, ${DEVICES * SOURCES.length * 365} days in 12 months: ${ms.toFixed(0)} ms`);
}

/** DuckDB with its default settings, over the files that the report reads. */
async function openBare(lakeDir: string) {
  const paths = lakePaths(lakeDir, WORKGROUP);
  const head = await readHead(paths);
  if (!head) throw new Error('nothing was published');
  const instance = await DuckDBInstance.create(':memory:', { threads: String(THREADS) });
  const connection = await instance.connect();
  await connection.run('SET GLOBAL parquet_metadata_cache = true');
  return {
    async run({ start, end }: { start: string; end: string }, bySource: boolean) {
      const files = head.files
        .filter(
          ({ dataset, period }) =>
            dataset === 'daily_energy' && period >= start.slice(0, 7) && period <= end.slice(0, 7),
        )
        .map((file) => filePath(paths, file));
      const result = await connection.run(
        bySource
          ? `SELECT day, device, source, energy_wh FROM read_parquet($files) WHERE day BETWEEN $start::DATE AND $end::DATE ORDER BY day, device, source`
          : `SELECT day, device, sum(energy_wh) FROM read_parquet($files) WHERE day BETWEEN $start::DATE AND $end::DATE GROUP BY day, device ORDER BY day, device`,
        { files: listValue(files), start, end },
      );
      await result.fetchAllChunks();
    },
    close: () => instance.closeSync(),
  };
}

/** @returns the bytes of the body, which are not kept */
async function download(url: string, token: string): Promise<number> {
  const response = request(url, { headers: { Authorization: `Bearer ${token}` } }).end();
  const [message] = (await once(response, 'response')) as [IncomingMessage];
  if (message.statusCode !== 200) throw new Error(`${message.statusCode}`);
  let bytes = 0;
  for await (const chunk of message) bytes += (chunk as Buffer).length;
  return bytes;
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
