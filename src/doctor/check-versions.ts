import { programVersion } from '../lib/program-version.ts';
import type { ConfigState, ProcessAnswer } from '../worker-rpc/process-rpc.ts';
import { type Check, ok, warning } from './run-checks.ts';

export interface Versions {
  wattline: string;
  node: string;
  duckdb: string;
  platform: string;
}

/** The versions of this command. */
export async function ownVersions(): Promise<Versions> {
  const { duckdbVersion } = await import('../warehouse/duckdb-version.ts');
  return {
    wattline: programVersion,
    node: process.versions.node,
    duckdb: duckdbVersion(),
    platform: `${process.platform} ${process.arch}`,
  };
}

/** The versions of this command, and of running processes that differ. */
export function checkVersions(processes: () => Promise<Array<ProcessAnswer<ConfigState>>>): Check {
  return {
    name: 'versions',
    async run() {
      const { wattline, node, duckdb, platform } = await ownVersions();
      const others = (await processes()).flatMap(({ processId, outcome }) => {
        if (outcome.kind !== 'answer' || outcome.answer.version === wattline) return [];
        const version = outcome.answer.version ?? 'an older version';
        return [
          warning(
            `process ${processId} runs ${version}, and this command is ${wattline}`,
            'restart the service with the new version, or use the command of the running one',
          ),
        ];
      });
      return [ok(`Wattline ${wattline}, Node ${node}, DuckDB ${duckdb}, ${platform}`), ...others];
    },
  };
}
