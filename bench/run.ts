// Runs the benchmarks, all or those that are named, and says which of their limits are met: npm run bench --
// decode land Options belong to the one that is named: npm run bench -- truth --worst 20
import { InputError } from '../src/lib/errors.ts';
import type { Ratio } from './decode.ts';
import { steadyServiceHelp, truthHelp } from './option-helps.ts';

type Bench = (print: (line: string) => void, options: readonly string[]) => Promise<Ratio[]>;

/**
 * A benchmark is loaded only when it runs, because all of them together load the whole program, a browser and
 * several databases.
 */
const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  decode: async () => (await import('./decode.ts')).benchDecode,
  land: async () => (await import('./land.ts')).benchLand,
  import: async () => (await import('./import.ts')).benchImport,
  rollup: async () => (await import('./rollup.ts')).benchRollUp,
  'rollup-first': async () => (await import('./rollup-first.ts')).benchRollUpFirst,
  'rollup-cost': async () => (await import('./rollup-cost.ts')).benchRollUpCost,
  serve: async () => (await import('./serve.ts')).benchServe,
  socket: async () => (await import('./socket.ts')).benchSocket,
  inputs: async () => (await import('./inputs.ts')).benchInputs,
  /** The service may take twice the bare query's time. */
  report: async () => {
    const { benchReport } = await import('./report.ts');
    return async (print) =>
      (await benchReport(print)).map(({ name, ratio }) => ({
        name: `${name}: speed of the bare query`,
        ratio: 1 / ratio,
        ratioMin: 0.5,
      }));
  },
  publish: async () => (await import('./publish.ts')).benchPublish,
  export: async () => (await import('./export.ts')).benchExport,
  page: async () => (await import('./page/measure-views.ts')).benchPage,
  callers: async () => (await import('./callers.ts')).benchCallers,
  backfill: async () => (await import('./backfill.ts')).benchBackfill,
  idle: async () => (await import('./idle.ts')).benchIdle,
  memory: async () => (await import('./steady-service.ts')).benchSteadyService,
  year: async () => (await import('./year.ts')).benchYear,
  latency: async () => (await import('./latency.ts')).benchLatency,
  metrics: async () => (await import('./metrics.ts')).benchMetrics,
  alerts: async () => (await import('./alerts.ts')).benchAlerts,
  bucket: async () => (await import('./bucket.ts')).benchBucket,
  'bucket-commit': async () => (await import('./bucket-commit.ts')).benchBucketCommit,
  soak: async () => {
    const { benchSoak } = await import('./soak.ts');
    return (print) => benchSoak(print);
  },
  truth: async () => (await import('./truth.ts')).benchTruth,
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
    const bench = await benches[name]!();
    ratios.push(...(await bench((line) => print(`  ${line}`), options)));
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
// A missed limit does not change the exit code. People judge it, because a busy machine also misses limits.
process.exit(0);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
