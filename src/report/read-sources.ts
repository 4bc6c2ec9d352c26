import { query } from '../warehouse/query.ts';
import type { Generation, LakeReader } from './lake/lake-reader.ts';

/** The published sources of devices. @returns by device, sorted */
export async function readSources(
  lake: LakeReader,
  generation: Generation | undefined,
): Promise<Map<string, string[]>> {
  const files = generation?.files('series') ?? [];
  if (!generation || files.length === 0) return new Map();
  const rows = await lake.run({ generation, files }, (connection) =>
    query<{ device: string; source: string }>(connection, 'report/list_sources', {
      files: files.map(generation.path),
    }),
  );
  const byDevice = Map.groupBy(rows, ({ device }) => device);
  return new Map([...byDevice].map(([device, list]) => [device, list.map(({ source }) => source)]));
}
