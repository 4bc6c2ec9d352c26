import type { WorkgroupConfig } from '../config/config.ts';
import { type MqttRule, templateOf } from '../config/input-settings.ts';
import { parseTopicPattern } from '../config/topic-pattern.ts';
import type { FieldValue } from '../contract/messages.ts';
import { limits } from '../contract/wire-limits.ts';
import { clipText } from '../lib/clip-text.ts';
import { parseDecimal } from '../lib/decimal-number.ts';
import type { UtcMs } from '../lib/time.ts';
import { createDeviceIds } from './device-ids.ts';
import type { InputOutcome } from './input-outcome.ts';
import { createTimeReader } from './payload-time.ts';
import { type MessagePayload, readMessagePayload } from './payload-value.ts';
import { readingOf } from './reading-of.ts';
import { scaleValue } from './scale-value.ts';

/** Reads messages of MQTT by the rules of an input. */
interface MessageReader {
  /** The topic filters to subscribe to. */
  filters: readonly string[];
  /** @returns an outcome for each rule that is about the topic; none if no rule is */
  read(topic: string, payload: Uint8Array, receivedAtMs: UtcMs): InputOutcome[];
}

/** @param rules of one input, checked by the configuration */
export function createMessageReader(
  workgroup: Pick<WorkgroupConfig, 'devices'>,
  rules: readonly MqttRule[],
): MessageReader {
  const idOf = createDeviceIds(workgroup);
  const compiled = rules.map((rule) => compile(rule, idOf));
  return {
    filters: [...new Set(compiled.map(({ filter }) => filter))],
    read(topic, bytes, receivedAtMs) {
      let payload: MessagePayload | undefined;
      const outcomes: InputOutcome[] = [];
      for (const { match, apply } of compiled) {
        const levels = match(topic);
        if (levels === undefined) continue;
        const problem = bytesProblem(bytes);
        payload ??= problem === undefined ? readMessagePayload(bytes) : undefined;
        outcomes.push(
          problem ??
            (payload === undefined
              ? refused('the payload is not text in UTF-8')
              : apply(levels, payload, receivedAtMs)),
        );
      }
      return outcomes;
    },
  };
}

function bytesProblem(bytes: Uint8Array): InputOutcome | undefined {
  if (bytes.length === 0) return { kind: 'ignored', reason: 'the payload is empty' };
  return bytes.length > limits.messageBytesMax
    ? refused(`the payload is larger than ${limits.messageBytesMax} bytes`)
    : undefined;
}

function compile(rule: MqttRule, idOf: (text: string) => string) {
  const pattern = parseTopicPattern(rule.topic);
  if ('problem' in pattern) throw new Error(`the topic ${rule.topic} was not checked: ${pattern.problem}`);
  const table = templateOf(rule.table);
  const device = templateOf(rule.device);
  const source = rule.source === undefined ? undefined : templateOf(rule.source);
  const fields = Object.entries(rule.fields).map(([name, value]) => ({ name: templateOf(name), ...value }));
  const readTime = rule.time && createTimeReader({ zone: undefined, ...rule.time });

  function apply(
    levels: Readonly<Record<string, string>>,
    payload: MessagePayload,
    receivedAtMs: UtcMs,
  ): InputOutcome {
    const partValue = (name: string) => (name.startsWith('/') ? textOf(payload.at(name)) : levels[name]);
    const data: Record<string, FieldValue> = {};
    for (const { name, from, scale } of fields) {
      const value = readValue(payload, from, scale);
      if (value.kind === 'problem') return refused(value.message);
      if (value.kind === 'none') continue;
      const field = name.fill(partValue);
      if (field === undefined) return refused('the field has a placeholder without a value');
      if (field === '__proto__') return refused('the field cannot be "__proto__"');
      data[field] = value.value;
    }
    if (Object.keys(data).length === 0)
      return {
        kind: 'ignored',
        reason: `the payload has no value at ${fields.map(({ from }) => from).join(', ')}`,
      };
    const time = readTime?.(payload);
    if (time?.kind === 'problem') return refused(time.message);
    return readingOf(
      {
        table: table.fill(partValue),
        device: device.fill(partValue),
        source: source === undefined ? null : source.fill(partValue),
        data,
        eventTimeMs: time?.ms ?? receivedAtMs,
        hasOwnTime: time !== undefined,
      },
      idOf,
    );
  }
  return { filter: pattern.filter, match: pattern.match, apply };
}

type Value =
  | { kind: 'value'; value: number | bigint | boolean }
  | { kind: 'none' }
  | { kind: 'problem'; message: string };

function readValue(payload: MessagePayload, from: string, scale: number): Value {
  if (from.startsWith('/') && !payload.isJson)
    return { kind: 'problem', message: 'the payload is not JSON, and the rule reads a part of it' };
  const found = payload.at(from);
  if (found === undefined || found === null || found === '') return { kind: 'none' };
  const value = typeof found === 'string' ? (parseDecimal(found.trim()) ?? found) : found;
  if (typeof value === 'number' && Number.isFinite(value))
    return { kind: 'value', value: scaleValue(value, scale) };
  if (typeof value === 'bigint')
    return { kind: 'value', value: scale === 1 ? value : scaleValue(Number(value), scale) };
  if (typeof value === 'boolean' && scale === 1) return { kind: 'value', value };
  const valueText = typeof value === 'object' ? 'an object or a list' : `"${clipText(String(value))}"`;
  return { kind: 'problem', message: `the value at ${from} is ${valueText}, and must be a number` };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : undefined;
}

function refused(reason: string): InputOutcome {
  return { kind: 'refused', reason };
}
