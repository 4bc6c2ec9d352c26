import type { DuckDBConnection } from '@duckdb/node-api';
import { InputError } from '../lib/errors.ts';
import { INTERVAL_MS, type UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import { type CorrectionRequest, correctionLimits } from './correction-request.ts';

type Of<Kind extends CorrectionRequest['kind']> = Extract<CorrectionRequest, { kind: Kind }>;

/**
 * Checks that the device and source have readings.
 * @param path the parameter that names both, if there is one
 */
export async function checkSource(
  connection: DuckDBConnection,
  { device, source }: { device: string; source: string },
  path?: string,
): Promise<void> {
  const rows = await query<{ source: string }>(connection, 'correction/list_sources', { device });
  const names = rows.map((row) => row.source);
  if (names.length === 0) throw refusal(path ?? 'device', 'no reading of this device has been taken in');
  if (!names.includes(source))
    throw refusal(
      path ?? 'source',
      `the device has no readings of a source "${source}"; it has ${names.join(', ')}`,
    );
}

/** Checks that the readings are not excluded yet, and that a named energy stream exists. */
export async function checkStream(connection: DuckDBConnection, request: Of<'exclude'>): Promise<void> {
  const { device, source, table, field, fromMs, toMs } = request;
  const streams = await query<{ table_name: string; field: string }>(connection, 'correction/list_streams', {
    device,
    source,
  });
  const matching = streams.filter(
    (stream) =>
      (table === undefined || stream.table_name === table) && (field === undefined || stream.field === field),
  );
  if (matching.length === 0) {
    const names = streams.map((stream) => `${stream.table_name}.${stream.field}`).join(', ');
    throw refusal(
      field === undefined ? 'table' : 'field',
      `no energy stream reads it of this source; there are ${names}`,
    );
  }
  const [same] = await query<{ correction_id: number }>(connection, 'correction/find_same_exclusion', {
    device,
    source,
    from_ms: BigInt(fromMs),
    to_ms: BigInt(toMs),
    table_name: table ?? null,
    field: field ?? null,
  });
  if (same) throw refusal('from', `correction ${same.correction_id} excludes these readings already`);
}

/** Checks that no part of the time is set or estimated already, and that the energy is possible. */
export async function checkOverlap(
  connection: DuckDBConnection,
  request: Of<'set'> | Of<'set_day'> | Of<'fill'>,
  { fromMs, toMs }: { fromMs: UtcMs; toMs: UtcMs },
): Promise<void> {
  const { device, source, kind } = request;
  const [overlap] = await query<{ correction_id: number }>(connection, 'correction/find_overlap', {
    device,
    source,
    from_ms: BigInt(fromMs),
    to_ms: BigInt(toMs),
  });
  if (overlap)
    throw refusal(
      kind === 'set_day' ? 'day' : 'from',
      `correction ${overlap.correction_id} says a part of this time already; undo that first`,
    );
  if (kind === 'fill') return;
  const mostWh = ((toMs - fromMs) / INTERVAL_MS) * correctionLimits.intervalWh;
  if (Math.abs(request.energyWh) > mostWh)
    throw refusal('energyWh', `must be at most ${mostWh} Wh, which is 10 GW over this time`);
  if (request.energyWh >= 0) return;
  const streams = await query<{ net: boolean }>(connection, 'correction/list_streams', { device, source });
  if (!streams.some(({ net }) => net))
    throw refusal('energyWh', 'must not be negative: no register of this source may fall (register: net)');
}

function refusal(path: string, message: string): InputError {
  return new InputError('the correction', [{ path, message }]);
}
