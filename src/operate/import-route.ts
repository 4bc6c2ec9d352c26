import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { rejectOtherMethods } from '../http/http-server.ts';
import { countParameter } from '../http/query-schemas.ts';
import { tagged } from '../http/send-tagged.ts';
import type { ImportState } from '../import/import-job.ts';
import type { ListedImport } from '../import/list-imports.ts';
import { formatInstant } from '../lib/time.ts';
import { addressSchema } from '../report/day-request.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { formatShape } from '../report/rows/row-format.ts';
import type { AskOwner } from './ask-owner.ts';
import { fileName } from './find-health.ts';
import { importsSchema } from './import-schema.ts';
import { type OperatorGuard, operatorErrors } from './operator-guard.ts';
import { type ListRows, sendList } from './send-list.ts';

const url = '/api/v1/orgs/:workgroupId/imports';
const LISTED_DEFAULT = 100;
const IMPORTS_LISTED_MAX = 1_000;

const querySchema = z.object({
  before: countParameter(999_999_999).meta({
    description: 'Only imports with a lower id, for the next page',
  }),
  limit: countParameter(IMPORTS_LISTED_MAX).meta({
    description: `The maximum number of imports of the answer: ${LISTED_DEFAULT} by default`,
  }),
  ...formatShape,
});

/** The imports of files, with their progress and their rejected rows. */
export function registerImportRoute(
  app: FastifyInstance,
  { guard, askOwner, lake }: { guard: OperatorGuard; askOwner: AskOwner; lake: LakeReader },
): void {
  app.get(
    url,
    {
      attachValidation: true,
      schema: {
        summary: 'Imports of files',
        description:
          'Imports, newest first, with their rows, and rejected rows by reason. Rows have the header `Wattline-Next` instead of `next`.',
        tags: ['operate'],
        params: addressSchema,
        querystring: querySchema,
        response: tagged(importsSchema, operatorErrors),
      },
    },
    async (request, reply) => {
      const { workgroup } = guard(request, ['search:read']);
      const { before, limit = LISTED_DEFAULT } = request.query as z.output<typeof querySchema>;
      const running = await runningImport(askOwner, workgroup.id);
      // One more shows if there is a next page.
      const page = { ...(before !== undefined && { beforeId: before }), limit: limit + 1 };
      const listed = await askOwner(workgroup.id, 'importList', page);
      const { imports, next } = importPage(listed, limit, running);
      if (next !== null) reply.header('Wattline-Next', String(next));
      return sendList(request, reply, lake, { imports, next }, importRows(imports));
    },
  );
  rejectOtherMethods(app, url, ['GET']);
}

type RunningImport = Extract<ImportState, { kind: 'running' }>;

async function runningImport(askOwner: AskOwner, workgroupId: string): Promise<RunningImport | undefined> {
  try {
    const state = await askOwner(workgroupId, 'importState', undefined);
    return state.kind === 'running' ? state : undefined;
  } catch {
    // The last import has failed. The list shows that it is interrupted.
    return undefined;
  }
}

/** The imports of a page, and the id before which the next page begins; null on the last page. */
export function importPage(
  listed: readonly ListedImport[],
  limit: number,
  running: RunningImport | undefined,
): { imports: ImportAnswer[]; next: number | null } {
  const imports = listed.slice(0, limit).map((one) => importAnswer(one, running));
  return { imports, next: listed.length > limit ? imports.at(-1)!.id : null };
}

type ImportAnswer = z.output<typeof importsSchema>['imports'][number];

function importAnswer(listed: ListedImport, running: RunningImport | undefined): ImportAnswer {
  const isRunning = listed.state === 'landing' && running?.path === listed.path;
  return {
    id: listed.importId,
    file: fileName(listed.path),
    table: listed.table,
    state: listed.state !== 'landing' ? listed.state : isRunning ? 'running' : 'interrupted',
    bytes: listed.bytes,
    rowsRead: listed.rowsRead,
    rowsLanded: listed.rowsLanded,
    rowsRejected: listed.rowsRejected,
    rejected: listed.rejected,
    startedAt: formatInstant(listed.startedAtMs),
    updatedAt: formatInstant(listed.updatedAtMs),
    rowsExpected: isRunning ? (running.progress.rowsExpected ?? null) : null,
  };
}

function importRows(imports: readonly ImportAnswer[]): ListRows {
  return {
    name: 'imports',
    columns: [
      ...(['import', 'file', 'table_name', 'state', 'bytes', 'rows_read', 'rows_landed'] as const),
      ...(['rows_rejected', 'rejected', 'started_at', 'updated_at', 'rows_expected'] as const),
    ],
    rows: imports.map(({ id, file, table, state, bytes, rejected, ...one }) => ({
      import: id,
      file,
      table_name: table,
      state,
      bytes,
      rows_read: one.rowsRead,
      rows_landed: one.rowsLanded,
      rows_rejected: one.rowsRejected,
      rejected: JSON.stringify(rejected),
      started_at: one.startedAt,
      updated_at: one.updatedAt,
      rows_expected: one.rowsExpected,
    })),
  };
}
