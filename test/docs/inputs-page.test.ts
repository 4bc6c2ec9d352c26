import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { configSchema, type WorkgroupConfig } from '../../src/config/config.ts';
import type { InputOutcome } from '../../src/inputs/input-outcome.ts';
import { createLineReader } from '../../src/inputs/read-influx-line.ts';
import { createMessageReader } from '../../src/inputs/read-mqtt-message.ts';
import { pages } from '../support/readme.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const NOW_MS = Date.parse('2026-11-20T08:00:00Z');
const page = pages.get('docs/inputs.md')!;

/** The sections with a configuration, and messages with what becomes of them. */
const sections = page
  .split(/^##+ /m)
  .slice(1)
  .flatMap((text) => {
    const [, yaml] = /^```yaml\n(.*?)^```/ms.exec(text) ?? [];
    const [, examples] = /^```text\n(.*?^-> .*?)^```/ms.exec(text) ?? [];
    return yaml === undefined || examples === undefined
      ? []
      : [{ title: text.split('\n')[0]!, yaml, examples: examplesOf(examples) }];
  });

interface Example {
  message: string;
  wanted: string;
}

function examplesOf(text: string): Example[] {
  return [...text.matchAll(/^(?!->)(.+)\n-> (.+)$/gm)].map(([, message, wanted]) => ({
    message: message!,
    wanted: wanted!,
  }));
}

test('the page has the products that it names', () => {
  const titles = sections.map(({ title }) => title).join();
  for (const product of [
    'Shelly, first',
    'Shelly, later',
    'Tasmota',
    'evcc',
    'OpenDTU',
    'Victron',
    'Zigbee2MQTT',
    'Influx',
  ])
    expect(titles).toContain(product);
});

test('the first steps have a configuration that reads the message that they try, and show what is printed', async () => {
  const steps = page.split('\n## From a Shelly to kWh\n')[1]!.split('\n## ')[0]!.replaceAll(/^ {3}/gm, '');
  const [, yaml] = /<<'END'\n(.*?)^END$/ms.exec(steps)!;
  const [, command, printed] = /wattline -- (inputs try .*?)\n```\n\n```text\n(.*?)```/s.exec(steps)!;
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), yaml!);
  writeFileSync(join(cwd, 'mqtt.password'), 'secret', { mode: 0o600 });
  const { code, stdout } = await runCommand(command!.split(' '), { cwd });
  expect([code, stdout]).toEqual([0, printed]);
});

describe.each(sections)('$title', ({ yaml, examples }) => {
  const workgroup = configSchema.parse(parse(yaml)).workgroups[0]!;

  test.each(examples)('$message', ({ message, wanted }) => {
    expect(outcomesOf(workgroup, message).map((outcome) => inWords(workgroup, message, outcome))).toEqual([
      wanted,
    ]);
  });

  test('reads what its energy streams use', () => {
    const read = examples.flatMap(({ message }) =>
      outcomesOf(workgroup, message).flatMap((outcome) =>
        outcome.kind === 'reading'
          ? Object.keys(outcome.item.data).map((field) => `${outcome.table}.${field}`)
          : [],
      ),
    );
    for (const { table, field } of workgroup.energyStreams) expect(read).toContain(`${table}.${field}`);
  });
});

function outcomesOf(workgroup: WorkgroupConfig, message: string): InputOutcome[] {
  const { mqtt, lines } = workgroup.inputs!;
  if (lines.length > 0)
    return createLineReader(workgroup, lines)(message, {
      precision: 'ns',
      receivedAtMs: NOW_MS,
      devices: 'all',
    });
  const [topic, ...rest] = message.split(' ');
  return createMessageReader(workgroup, mqtt[0]!.rules).read(topic!, Buffer.from(rest.join(' ')), NOW_MS);
}

/** An outcome as the page writes it. The device is found by the text that gives its id. */
function inWords(workgroup: WorkgroupConfig, message: string, outcome: InputOutcome): string {
  if (outcome.kind !== 'reading') return outcome.kind;
  const { table, item, hasOwnTime } = outcome;
  const fields = Object.entries(item.data).map(([name, value]) => `${name}=${value}`);
  const at = hasOwnTime ? [`at ${new Date(item.event_time).toISOString()}`] : [];
  return [table, nameOf(workgroup, message, item.device), item.source ?? '-', ...fields, ...at].join(' ');
}

function nameOf(workgroup: WorkgroupConfig, message: string, id: string): string {
  const named = workgroup.devices.find((device) => device.id === id)?.name;
  if (named !== undefined) return named;
  const rule = { topic: '{device}', table: 't', fields: { v: 'payload' } };
  const inputs = { mqtt: [{ id: 'x', url: 'mqtt://x', rules: [rule] }] };
  const other = configSchema.parse({ workgroups: [{ id: 'home', inputs }] }).workgroups[0]!;
  const reader = createMessageReader(other, other.inputs!.mqtt[0]!.rules);
  const words = message.split(/[^A-Za-z0-9_-]+/);
  // Some devices of the page have a name such as grid-30, of two parts of the topic.
  const texts = [
    ...words,
    ...words.flatMap((word, index) => (index === 0 ? [] : [`${words[index - 1]}-${word}`])),
  ];
  const found = texts.find((text) => {
    const [outcome] = text === '' ? [] : reader.read(text, Buffer.from('1'), NOW_MS);
    return outcome?.kind === 'reading' && outcome.item.device === id;
  });
  return found ?? id;
}
