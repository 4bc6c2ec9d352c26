import type { FastifyReply, FastifyRequest } from 'fastify';
import { etagOf } from '../http/etag.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import type { ColumnName } from '../report/rows/row-columns.ts';
import { listedRows, type ReportRow } from '../report/rows/row-select.ts';
import { jsonParts, sendParts } from '../report/rows/send-parts.ts';

export interface ListRows {
  /** The name of a downloaded file, without its ending. */
  name: string;
  columns: readonly ColumnName[];
  rows: readonly ReportRow[];
}

/**
 * Answers with a list in JSON, or with its rows in their order if the caller prefers them, or with 304 if
 * nothing has changed.
 */
export function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  lake: LakeReader,
  answer: object,
  { name, columns, rows }: ListRows,
): Promise<FastifyReply> {
  return sendParts(request, reply, lake, {
    etag: etagOf(answer),
    read: async () => jsonParts(answer),
    rows: { name, select: () => listedRows({ columns, order: [] }, rows) },
    onAnswered: () => undefined,
  });
}
