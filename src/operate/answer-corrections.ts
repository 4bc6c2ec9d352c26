import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ListedCorrection } from '../correction/list-corrections.ts';
import type { LakeReader } from '../report/lake/lake-reader.ts';
import { formatShape } from '../report/rows/row-format.ts';
import { type ListRows, sendList } from './send-list.ts';

/**
 * Answers with corrections in JSON or as rows. Rows do not have the basis. Of the changed days they have only
 * the number.
 */
export function answerCorrections(lake: LakeReader) {
  return {
    parameters: formatShape,
    send: (request: FastifyRequest, reply: FastifyReply, corrections: readonly ListedCorrection[]) =>
      sendList(request, reply, lake, { corrections }, correctionRows(corrections)),
  };
}

export function correctionRows(corrections: readonly ListedCorrection[]): ListRows {
  return {
    name: 'corrections',
    columns: [
      ...(['correction', 'kind', 'device', 'source', 'table_name', 'field', 'day', 'timezone'] as const),
      ...(['from_time', 'to_time', 'energy_wh', 'changed_days', 'undoes', 'undone_by', 'reason'] as const),
      ...(['actor', 'happened_at'] as const),
    ],
    rows: corrections.map(({ id, kind, device, source, field, day, timezone, ...one }) => ({
      ...{ correction: id, kind, device, source, table_name: one.table, field, day, timezone },
      from_time: one.from,
      to_time: one.to,
      energy_wh: one.energyWh,
      changed_days: one.dayCount,
      undoes: one.undoes,
      undone_by: one.undoneBy,
      reason: one.reason,
      actor: one.author,
      happened_at: one.at,
    })),
  };
}
