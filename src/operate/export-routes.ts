import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Audit } from '../audit/audit.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import type { Workgroups } from '../config/workgroups.ts';
import { StreamError } from '../contract/stream-errors.ts';
import type { Exports } from '../exports/create-exports.ts';
import type { ExportRun } from '../exports/export-ledger.ts';
import { parsePeriod } from '../exports/export-period.ts';
import { rejectOtherMethods } from '../http/http-server.ts';
import { tagged } from '../http/send-tagged.ts';
import { type Clock, SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { addressSchema, invalid } from '../report/day-request.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { errorSchema } from '../report/report-schemas.ts';
import { formatShape } from '../report/rows/row-format.ts';
import { exportAnswer, exportRows, runAnswer, runRefusal } from './export-answers.ts';
import { exportListSchema, exportStartedSchema } from './export-schemas.ts';
import { registerAction } from './operator-action.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { sendList } from './send-list.ts';

const root = '/api/v1/orgs/:workgroupId/exports';
/** A caller waits for this long. The run continues after that. */
const RUN_WAIT_MS = 20 * SECOND_MS;

const bodySchema = z
  .strictObject({
    period: z.string().max(32).optional().meta({
      description:
        'A day, a month, a year, or <first>_to_<last> day that has ended. Default: the period of its range',
      example: '2026-10',
    }),
    corrected: z
      .boolean()
      .default(false)
      .meta({ description: 'Delivers the period again as a new revision' }),
  })
  .nullish();
const idParams = addressSchema.extend({ id: z.string().max(128).meta({ description: 'Export' }) });

export interface ExportRoutesOptions {
  guard: OperatorGuard;
  audit: Audit;
  workgroups: Pick<Workgroups, 'exportsOf'>;
  lake: LakeReader;
  /** All runs of an export, sorted by period. */
  runsOf: (config: ExportConfig) => Promise<ExportRun[]>;
  /** The exports of this process. They are opened at the first run. */
  openExports: () => Promise<Pick<Exports, 'run'>>;
  /** Aborts runs when the service stops. */
  signal: AbortSignal;
  clock: Clock;
}

/** Configured exports with their runs, and a run by hand. */
export function registerExportRoutes(app: FastifyInstance, options: ExportRoutesOptions): void {
  const { guard, workgroups, lake, runsOf, clock } = options;
  app.get(
    root,
    {
      attachValidation: true,
      schema: {
        tags: ['operate'],
        params: addressSchema,
        summary: 'Exports',
        description:
          'Exports with their next time, what is delivered or waits, and which delivered files are outdated by which days. Rows are those of each run.',
        querystring: z.object(formatShape),
        response: tagged(exportListSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['search:read']);
      const nowMs = clock.now();
      const exports = await Promise.all(
        workgroups
          .exportsOf(workgroup.id)
          .map(async (one) => exportAnswer(one, await runsOf(one), workgroup, nowMs)),
      );
      return sendList(request, reply, lake, { exports }, exportRows(exports));
    },
  );
  registerAction(app, options, {
    url: `${root}/:id/run`,
    params: idParams,
    summary: 'Run an export',
    description:
      'Writes and delivers a file now, unless it was already delivered. Needs `org:admin`, and is in the audit log.',
    body: bodySchema,
    answers: { 200: exportStartedSchema, 202: exportStartedSchema, 404: errorSchema },
    async run({ workgroup, params, body, reply, record }) {
      const { id } = params as z.output<typeof idParams>;
      const { period, corrected = false } = body ?? {};
      if (!workgroups.exportsOf(workgroup.id).some((one) => one.id === id))
        throw new StreamError('NotFound', 'this workgroup has no export with this id');
      const wantedPeriod = period === undefined ? undefined : parsePeriod(period);
      if (period !== undefined && !wantedPeriod)
        throw invalid(
          'period',
          'must be a day (2026-11-20), month (2026-11), year (2026) or range of days (2026-11-14_to_2026-11-20)',
        );
      record('export.requested', { target: id, data: { period, corrected } });
      const exports = await options.openExports();
      const running = exports.run(
        id,
        { ...(wantedPeriod && { period: wantedPeriod }), corrected },
        options.signal,
      );
      const done = await withTimeout(running, RUN_WAIT_MS).catch((error: unknown) => {
        throw runRefusal(error);
      });
      if (done !== 'late') return { outcome: done.kind, run: runAnswer(done.run) };
      // The ledger keeps the error of a run that fails later.
      running.catch(() => undefined);
      return reply.code(202).send({ outcome: 'running' as const, run: null });
    },
  });
  rejectOtherMethods(app, root, ['GET']);
  rejectOtherMethods(app, `${root}/:id/run`, ['POST']);
}
