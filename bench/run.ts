// Runs the benchmarks, all or those that are named, and says which of their limits are met: npm run bench -- decode land
import { benchBackfill } from './backfill.ts';
import { benchCallers } from './callers.ts';
import { benchDecode, type Ratio } from './decode.ts';
import { benchExport } from './export.ts';
import { benchImport } from './import.ts';
import { benchLand } from './land.ts';
import { benchLatency } from './latency.ts';
import { benchReport } from './report.ts';
import { benchRollUp } from './rollup.ts';
import { benchServe } from './serve.ts';
import { benchSoak } from './soak.ts';
import { benchSocket } from './socket.ts';

type Bench = (print: (line: string) => void) => Promise<Ratio[]>;

const benches: Readonly<Record<string, Bench>> = {
  decode: benchDecode,
  land: benchLand,
  import: benchImport,
  rollup: benchRollUp,
  serve: benchServe,
  socket: benchSocket,
  /** The service may take twice the bare query's time. */
  report: async (print) =>
    (await benchReport(print)).map(({ name, ratio }) => ({
      name: `${name}: speed of the bare query`,
      ratio: 1 / ratio,
      ratioMin: 0.5,
    })),
  export: benchExport,
  callers: benchCallers,
  backfill: benchBackfill,
  latency: benchLatency,
  soak: benchSoak,
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  print(`no such benchmark: ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
const ratios: Ratio[] = [];
for (const name of names.length > 0 ? names : Object.keys(benches)) {
  print(`\n${name}`);
  ratios.push(...(await benches[name]!((line) => print(`  ${line}`))));
}
print('\nratio  limit');
for (const { name, ratio, ratioMin } of ratios) {
  const verdict = ratio >= ratioMin ? 'met' : 'missed';
  print(`${ratio.toFixed(2).padStart(5)}  ${ratioMin.toFixed(2).padStart(5)}  ${verdict.padEnd(6)}  ${name}`);
}
// Missed limits are for people to judge: a busy machine misses them too.
process.exit(0);

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
