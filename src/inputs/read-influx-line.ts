import type { WorkgroupConfig } from '../config/config.ts';
import { type LineRule, MEASUREMENT, templateOf } from '../config/input-settings.ts';
import type { FieldValue } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import type { UtcMs } from '../lib/time.ts';
import { wildcardPattern } from '../lib/wildcard-pattern.ts';
import { createDeviceIds } from './device-ids.ts';
import type { InputOutcome } from './input-outcome.ts';
import { type LinePoint, type Precision, parseLine } from './parse-line.ts';
import { readingOf } from './reading-of.ts';
import { scaleValue } from './scale-value.ts';

export interface LineContext {
  precision: Precision;
  receivedAtMs: UtcMs;
  /** The devices that the sender may write for. */
  devices: ReadonlySet<string> | 'all';
}

/**
 * Reads one line by the rules.
 * @returns an outcome for each rule that is about its measurement; none for a comment
 */
export type LineReader = (line: string, context: LineContext) => InputOutcome[];

/** @param rules of one workgroup, checked by the configuration */
export function createLineReader(
  workgroup: Pick<WorkgroupConfig, 'devices'>,
  rules: readonly LineRule[],
): LineReader {
  const idOf = createDeviceIds(workgroup);
  const compiled = rules.map((rule) => compile(rule, idOf));
  return (line, context) => {
    const point = parseLine(line, context.precision);
    if (point.kind === 'blank') return [];
    if (point.kind === 'problem') return [{ kind: 'refused', reason: point.message }];
    const about = compiled.filter(({ measurement }) => measurement.test(point.measurement));
    if (about.length === 0)
      return [{ kind: 'ignored', reason: `no rule matches the measurement "${point.measurement}"` }];
    return about.map(({ apply }) => apply(point, context));
  };
}

function compile(rule: LineRule, idOf: (text: string) => string) {
  const table = templateOf(rule.table);
  const device = templateOf(rule.device);
  const source = rule.source === undefined ? undefined : templateOf(rule.source);
  const fields = rule.fields && Object.entries(rule.fields).map(([name, value]) => ({ name, ...value }));

  function dataOf(point: LinePoint): Record<string, FieldValue> | string {
    if (fields === undefined) {
      // `checkItems` would refuse it too, but only after an object with all fields was made.
      if (point.fields.size > limits.fieldsPerMessageMax)
        return `data must have at most ${limits.fieldsPerMessageMax} fields`;
      if (point.fields.has('__proto__')) return 'the field cannot be "__proto__"';
      return Object.fromEntries(point.fields);
    }
    const data: Record<string, FieldValue> = {};
    for (const { name, from, scale } of fields) {
      const value = point.fields.get(from);
      if (value === undefined) continue;
      if (scale !== 1 && typeof value !== 'number' && typeof value !== 'bigint')
        return `the field "${from}" must be a number, because it has a scale`;
      data[name] = scale === 1 ? value : scaleValue(Number(value), scale);
    }
    return data;
  }
  function apply(point: LinePoint, { receivedAtMs, devices }: LineContext): InputOutcome {
    const data = dataOf(point);
    if (typeof data === 'string') return { kind: 'refused', reason: data };
    if (Object.keys(data).length === 0)
      return {
        kind: 'ignored',
        reason: `the line has none of the fields ${fields?.map(({ from }) => from).join(', ')}`,
      };
    const partValue = (name: string) => (name === MEASUREMENT ? point.measurement : point.tags.get(name));
    return readingOf(
      {
        table: table.fill(partValue),
        device: device.fill(partValue),
        source: source === undefined ? null : source.fill(partValue),
        data,
        eventTimeMs: point.timeMs ?? receivedAtMs,
        hasOwnTime: point.timeMs !== undefined,
      },
      idOf,
      devices,
    );
  }
  return { measurement: wildcardPattern(rule.measurement), apply };
}
