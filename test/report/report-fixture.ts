import { copyFileSync, mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Access, createAccess } from '../../src/access/access.ts';
import type { IssueRequest } from '../../src/access/grant.ts';
import { configSchema, type WorkgroupConfig } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { compressAnswers } from '../../src/http/compress-answers.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { type LakeReader, openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { registerOpenApi } from '../../src/report/openapi.ts';
import { registerPage } from '../../src/report/page-routes.ts';
import { registerReportRoutes } from '../../src/report/report-routes.ts';
import { createControl } from '../../src/worker-rpc/control.ts';
import { type Fixture, openFixture, WORKGROUP } from '../publish/publish-fixture.ts';
import { atEnd } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

export interface ReportFixture extends Fixture {
  dataDir: string;
  workgroup: WorkgroupConfig;
  app: FastifyInstance;
  base: string;
  lake: LakeReader;
  access: Access;
  token: string;
  /** GETs a path with the token that may see everything, or another one. */
  get(
    path: string,
    options?: { token?: string | undefined; headers?: Record<string, string> },
  ): Promise<Response>;
  /** The daily-energy report for a query string. */
  report(query: string, token?: string): Promise<Record<string, Record<string, number>>>;
  issue(scope: IssueRequest['scopes'][string]): Promise<string>;
}

export function workgroupConfig(settings: Partial<WorkgroupConfig> = {}): WorkgroupConfig {
  return configSchema.parse({ workgroups: [{ id: WORKGROUP, ...settings }] }).workgroups[0]!;
}

/**
 * A real warehouse, lake, access and HTTP server.
 * @param filled a warehouse file, which is copied. Default: an empty one
 */
export async function openReport(
  settings: Partial<WorkgroupConfig> = {},
  filled?: string,
): Promise<ReportFixture> {
  const dataDir = tempDir();
  if (filled !== undefined) {
    mkdirSync(join(dataDir, 'warehouse'));
    copyFileSync(filled, join(dataDir, 'warehouse', `${WORKGROUP}.duckdb`));
  }
  const clock = createTestClock();
  const workgroup = workgroupConfig(settings);
  const fixture = await openFixture(dataDir, clock, [], workgroup);
  atEnd(() => fixture.shard.close());
  const access = await createAccess({ dataDir, issuer: 'wattline', clock });
  // A second thread costs a fifth more of the processor with few rows.
  const lake = await openLakeReader({ lakeDir: fixture.lakeDir, threads: 1 });
  atEnd(() => lake.close());
  const { app, base } = await serveReports({ lake, access, workgroup, dataDir, clock });
  const issue: ReportFixture['issue'] = async (scope) =>
    (await access.issue({ subject: 'test', scopes: { [WORKGROUP]: scope }, lifetimeMs: 1_000 * HOUR_MS }))
      .token;
  const everything = await issue({ permissions: ['search:read'] });
  const get: ReportFixture['get'] = (path, options = {}) => {
    const token = 'token' in options ? options.token : everything;
    return fetch(base + path, {
      headers: { ...(token && { Authorization: `Bearer ${token}` }), ...options.headers },
    });
  };
  return {
    ...fixture,
    dataDir,
    workgroup,
    app,
    base,
    lake,
    access,
    token: everything,
    get,
    async report(query, token = everything) {
      const response = await get(`/api/v1/orgs/${WORKGROUP}/daily-energy?${query}`, { token });
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      return (await response.json()) as Record<string, Record<string, number>>;
    },
    issue,
  };
}

/** A server of the reports of a workgroup. */
export async function serveReports({
  lake,
  access,
  workgroup,
  dataDir,
  clock,
}: Pick<ReportFixture, 'lake' | 'access' | 'workgroup' | 'dataDir' | 'clock'>) {
  const app = createHttpServer({ logger: silentLogger, access, requestsPerMinuteMax: 100_000, clock });
  await compressAnswers(app);
  registerOpenApi(app, { version: '0.0.0' });
  await registerPage(app, undefined);
  registerReportRoutes(app, {
    access,
    lake,
    explain: (id, args, signal) => createControl(dataDir).ask(id, 'explain', args, { signal }),
    workgroups: createWorkgroups({ workgroups: [workgroup] }),
    clock,
    logger: silentLogger,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  atEnd(() => app.close());
  return { app, base: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` };
}
