// Runs the benchmarks, all or those that are named, and says which of their limits are met: npm run bench -- decode land
// Options belong to the one that is named: npm run bench -- truth --worst 20
import { InputError } from '../src/lib/errors.ts';
import { benchAlerts } from './alerts.ts';
import { benchBackfill } from './backfill.ts';
import { benchBucket } from './bucket.ts';
import { benchBucketCommit } from './bucket-commit.ts';
import { benchCallers } from './callers.ts';
import { benchDecode, type Ratio } from './decode.ts';
import { benchExport } from './export.ts';
import { benchIdle } from './idle.ts';
import { benchImport } from './import.ts';
import { benchInputs } from './inputs.ts';
import { benchLand } from './land.ts';
import { benchLatency } from './latency.ts';
import { benchMetrics } from './metrics.ts';
import { benchPage } from './page/measure-views.ts';
import { benchPublish } from './publish.ts';
import { benchReport } from './report.ts';
import { benchRollUp } from './rollup.ts';
import { benchRollUpCost } from './rollup-cost.ts';
import { benchRollUpFirst } from './rollup-first.ts';
import { benchServe } from './serve.ts';
import { benchSoak } from './soak.ts';
import { benchSocket } from './socket.ts';
import { benchSteadyService, steadyServiceHelp } from './steady-service.ts';
import { benchTruth, truthHelp } from './truth.ts';
import { benchYear } from './year.ts';

type Bench = (print: (line: string) => void, options: readonly string[]) => Promise<Ratio[]>;

const benches: Readonly<Record<string, Bench>> = {
  decode: benchDecode,
  land: benchLand,
  import: benchImport,
  rollup: benchRollUp,
  'rollup-first': benchRollUpFirst,
  'rollup-cost': benchRollUpCost,
  serve: benchServe,
  socket: benchSocket,
  inputs: benchInputs,
  /** The service may take twice the bare query's time. */
  report: async (print) =>
    (await benchReport(print)).map(({ name, ratio }) => ({
      name: `${name}: speed of the bare query`,
      ratio: 1 / ratio,
      ratioMin: 0.5,
    })),
  publish: benchPublish,
  export: benchExport,
  page: benchPage,
  callers: benchCallers,
  backfill: benchBackfill,
  idle: benchIdle,
  memory: benchSteadyService,
  year: benchYear,
  latency: benchLatency,
  metrics: benchMetrics,
  alerts: benchAlerts,
  bucket: benchBucket,
  'bucket-commit': benchBucketCommit,
  soak: (print) => benchSoak(print),
  truth: benchTruth,
};
/** The benchmarks that have options, with what these are. */
const helps: Readonly<Record<string, string>> = { truth: truthHelp, memory: steadyServiceHelp };

const words = process.argv.slice(2);
const firstOption = words.findIndex((word) => word.startsWith('-'));
const names = firstOption < 0 ? words : words.slice(0, firstOption);
const options = firstOption < 0 ? [] : words.slice(firstOption);
const unknown = names.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  print(`no such benchmark: ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
const hasOptions = names.length === 1 && helps[names[0]!] !== undefined;
if (options.includes('--help') || (options.length > 0 && !hasOptions)) {
  print(
    `npm run bench -- [names] [options]\nNames: ${Object.keys(benches).join(', ')}\nOptions of ${Object.values(helps).join('\n')}`,
  );
  process.exit(options.includes('--help') ? 0 : 2);
}
const ratios: Ratio[] = [];
try {
  for (const name of names.length > 0 ? names : Object.keys(benches)) {
    print(`\n${name}`);
    ratios.push(...(await benches[name]!((line) => print(`  ${line}`), options)));
  }
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  print(error.message);
  process.exit(2);
}
if (ratios.length > 0) print('\nratio  limit');
for (const { name, ratio, ratioMin } of ratios) {
  const verdict = ratio >= ratioMin ? 'met' : 'missed';
  print(`${ratio.toFixed(2).padStart(5)}  ${ratioMin.toFixed(2).padStart(5)}  ${verdict.padEnd(6)}  ${name}`);
}
// Missed limits are for people to judge: a busy machine misses them too.
process.exit(0);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
