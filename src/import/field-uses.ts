import type { EnergyStream } from '../config/energy-stream.ts';

/** An energy stream that reads a field. */
export interface FieldUse {
  /** Its position in the configuration: energyStreams.<position>. */
  position: number;
  method: EnergyStream['method'];
  /** The unit of the stream, such as kWh. */
  unit: string;
  /** The source under which it is stored, if it differs from the source of the messages. */
  as?: string;
  /** True if the field contains the unit, not the amount. */
  isUnit: boolean;
}

/** Lists the energy streams that read each field of a table. Fields that no stream reads are missing. */
export function listFieldUses(table: string, streams: readonly EnergyStream[]): Map<string, FieldUse[]> {
  const uses = new Map<string, FieldUse[]>();
  for (const [position, stream] of streams.entries()) {
    if (stream.table !== table) continue;
    const { field, unitField, method, unit, as } = stream;
    const add = (used: string, { isUnit }: { isUnit: boolean }) =>
      uses.set(used, [
        ...(uses.get(used) ?? []),
        { position, method, unit, ...(as !== undefined && { as }), isUnit },
      ]);
    add(field, { isUnit: false });
    if (unitField !== undefined) add(unitField, { isUnit: true });
  }
  return uses;
}

/** The energy streams that read a field, as text. */
export function usesAsText(uses: readonly FieldUse[]): string {
  if (uses.length === 0) return 'no energy stream';
  return uses
    .map(({ position, method, unit, as, isUnit }) =>
      isUnit
        ? `energyStreams.${position} as its unit`
        : `energyStreams.${position} (${[method, unit, ...(as === undefined ? [] : [`as ${as}`])].join(', ')})`,
    )
    .join(', ');
}
