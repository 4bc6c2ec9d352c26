import type { DuckDBConnection } from '@duckdb/node-api';
import { type DeclaredDevices, declareDevices } from '../warehouse/declared-devices.ts';
import { type DeclaredMeters, declareMeters } from '../warehouse/declared-meters.ts';
import { query } from '../warehouse/query.ts';
import type { DeclaredStreams } from '../warehouse/stage-progress.ts';
import { type DeclaredZone, declareDays } from './declared-days.ts';

/** The configuration of the published data. */
export type Declared = DeclaredDevices & DeclaredMeters & DeclaredStreams & DeclaredZone;

/**
 * Everything that the declared datasets depend on, as a text. If it stays the same, their rows stay the same.
 */
export async function declaredInputs(connection: DuckDBConnection, declared: Declared): Promise<string> {
  const found = await query(connection, 'publish/find_declared_inputs');
  return JSON.stringify([declared, found]);
}

/** Stores the configuration in temporary tables, from which the declared datasets are made. */
export async function declareData(connection: DuckDBConnection, declared: Declared): Promise<void> {
  await declareDevices(connection, declared);
  await declareMeters(connection, declared);
  await declareDays(connection, declared);
}
