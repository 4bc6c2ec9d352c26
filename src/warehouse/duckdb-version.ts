import { version } from '@duckdb/node-api';

/** The version of the engine, such as `v1.5.6`. */
export function duckdbVersion(): string {
  return version();
}
