import { IMPORT_BATCHES_MAX } from '../warehouse/import-batches.ts';
import { DAY_FLAGS, flagBits } from './flag-bits.ts';
import { ruleConstants, workBounds } from './rule-constants.ts';

/**
 * Two energies (Wh) that differ by at most this are equal, because sums of floating-point numbers are not
 * exact.
 */
const FLOAT_TOLERANCE_WH = 1e-6;

/** Billionths of a Wh (nWh) in a Wh. */
const NWH_PER_WH = 1e9;

const W_PER_KW = 1_000;

/** W times ms in a billionth of a Wh. */
const WATT_MS_PER_NWH = 0.0036;

/** SQL that creates the macros of the constants and flags, such as `interval_ms()` and `flag('reset')`. */
export function ruleMacros(): string {
  const flags = Object.entries(flagBits).map(([name, bit]) => `WHEN '${name}' THEN ${bit}`);
  const macros = [
    ...constantLiterals().map(([name, literal]) => [`${name}()`, literal]),
    ['flag(name)', `CASE name ${flags.join(' ')} END`],
  ];
  return macros.map(([head, body]) => `CREATE OR REPLACE TEMP MACRO ${head} AS ${body}`).join(';\n');
}

function constantLiterals(): Array<[name: string, literal: string]> {
  return [
    ...Object.entries(ruleConstants).map(([name, { value, unit }]): [string, string] => [
      name,
      unit === 'ms' ? `${value}::BIGINT` : String(value),
    ]),
    ['day_flags', String(DAY_FLAGS)],
    ['moved_mark_days', String(workBounds.moved_mark_days)],
    ['samples_max', String(workBounds.samples_max)],
    ['sample_text_max', String(workBounds.sample_text_max)],
    ['import_batches_max', `${IMPORT_BATCHES_MAX}::BIGINT`],
    ['float_tolerance_wh', `${FLOAT_TOLERANCE_WH}::DOUBLE`],
    ['w_per_kw', String(W_PER_KW)],
    ['nwh_per_wh', `${NWH_PER_WH}::DOUBLE`],
    ['watt_ms_per_nwh', String(WATT_MS_PER_NWH)],
  ];
}

/**
 * Replaces the macros of constants and flags in a statement by their values, because DuckDB plans a number
 * faster than a macro.
 */
export function withConstants(sql: string): string {
  const literals = new Map(constantLiterals());
  return sql
    .replace(/\b(\w+)\(\)/g, (call, name: string) => {
      const literal = literals.get(name);
      return literal === undefined ? call : `(${literal})`;
    })
    .replace(/\bflag\('(\w+)'\)/g, (call, name: string) =>
      String(flagBits[name as keyof typeof flagBits] ?? call),
    );
}
