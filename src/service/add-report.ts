import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config.ts';
import { registerCorrectionRoutes } from '../correction/correction-routes.ts';
import { withRequestKey } from '../correction/with-request-key.ts';
import type { Health } from '../http/health-routes.ts';
import { registerMcpRoutes } from '../mcp/mcp-routes.ts';
import { answerCorrections } from '../operate/answer-corrections.ts';
import { lakeFolder } from '../pipeline/assignment.ts';
import { hasPublished } from '../pipeline/has-published.ts';
import { openLakeReader } from '../report/lake/lake-reader.ts';
import { createLakeReadiness } from '../report/lake/lake-readiness.ts';
import { registerReportRoutes } from '../report/report-routes.ts';
import { registerUploadRoutes } from '../upload/upload-routes.ts';
import { addOperate } from './add-operate.ts';
import type { RoleParts } from './role-parts.ts';

/** Adds the reports, corrections, uploads and operator endpoints to a server. @returns stops them */
export async function addReport(
  app: FastifyInstance,
  health: Health,
  config: Config,
  parts: RoleParts & { ownUrl: () => string | undefined },
): Promise<() => Promise<void>> {
  const { access, accessAudit: audit, workgroups, control, bucket, logger, clock } = parts;
  const lake = await openLakeReader({
    ...(bucket
      ? { source: bucket.source }
      : {
          lakeDir: lakeFolder(config),
          hasPublished: (workgroupId) => hasPublished(config.dataDir, workgroupId),
        }),
    threads: config.pipeline.warehouseThreads,
  });
  registerReportRoutes(app, {
    access,
    lake,
    explain: (workgroupId, args, signal) => control.ask(workgroupId, 'explain', args, { signal }),
    audit,
    workgroups,
    clock,
    logger,
  });
  registerMcpRoutes(app, { origins: config.http.corsOrigins, logger });
  registerCorrectionRoutes(app, {
    correct: (workgroupId, args) => control.ask(workgroupId, 'correct', withRequestKey(args)),
    list: (workgroupId, query) => control.ask(workgroupId, 'corrections', query),
    answer: answerCorrections(lake),
    audit,
    workgroups,
  });
  registerUploadRoutes(app, {
    take: (workgroupId, request) => control.ask(workgroupId, 'upload', request),
    recheck: access.recheck,
    dataDir: config.dataDir,
    audit,
    workgroups,
    clock,
    logger,
  });
  /** The workgroups with their lake on this machine. A look at a lake in the bucket would be a request. */
  const idsHere = () => {
    const ids = workgroups.list().map(({ id }) => id);
    return bucket ? ids.filter(bucket.isHere) : ids;
  };
  const lakeReadiness = createLakeReadiness(lake);
  health.addReadiness('lake', (asker) => lakeReadiness(idsHere(), clock.now(), asker));
  if (bucket)
    health.addReadiness('bucket', (asker) =>
      idsHere().length < workgroups.list().length ? bucket.readiness(asker) : { ok: true },
    );
  const stopOperate = addOperate(app, config, { ...parts, lake });
  return async () => {
    await stopOperate();
    await lake.close();
  };
}
