import { expect, test } from 'vitest';
import { rules } from '../../src/conformance/all-rules.ts';
import { contractSections } from '../../src/conformance/rule.ts';
import { limits } from '../../src/contract/wire-limits.ts';
import { pages } from '../support/readme.ts';

const contract = pages.get('docs/stream.md')!.split('\n## The contract\n')[1]!.split('\n## ')[0]!;
const headings = [...contract.matchAll(/^### (.+)$/gm)].map(([, heading]) => `docs/stream.md, ${heading}`);
const sectionOf = (heading: string) => contract.split(`\n### ${heading}\n`)[1]!.split('\n### ')[0]!;

test('the headings that rules of conformance cite are the headings of the contract', () => {
  expect(Object.values(contractSections).toSorted()).toEqual(headings.toSorted());
});

test('each heading of the contract is cited by a rule', () => {
  const cited = new Set<string>(rules.map(({ source }) => source));
  expect(headings.filter((heading) => !cited.has(heading))).toEqual([]);
});

test.each([
  ['The size of an answer', `${limits.messagesPerReadMax.toLocaleString('en')} messages`],
  ['The size of an answer', `${limits.readBytesMax / 2 ** 20} MiB`],
  ['How long a read waits', `${limits.idleTimeoutMs / 1_000} s after the last one`],
  ['How long a read waits', `more than ${limits.readHoldMsMax / 1_000} s`],
  [
    'Ingest',
    `${limits.itemsPerIngestMax.toLocaleString('en')} items, or more than ${limits.ingestBytesMax / 2 ** 20} MiB`,
  ],
  [
    'Sockets',
    `${limits.frameMessagesMax.toLocaleString('en')} messages and at most ${limits.frameBytesMax / 2 ** 20} MiB`,
  ],
  ['Sockets', `After ${limits.frameIdleMs / 1_000} s`],
])('%s: the page has the limit of the code: %s', (heading, text) => {
  expect(sectionOf(heading)).toContain(text);
});

test('the table of events has the limits of a frame', () => {
  const { frameMessagesMax, frameBytesMax, frameIdleMs } = limits;
  const rowOf = (event: string) =>
    pages
      .get('docs/stream.md')!
      .split('\n')
      .find((line) => line.startsWith(`| \`${event}\` |`))!;
  expect(rowOf('stream:latest')).toContain(`(at most ${frameMessagesMax.toLocaleString('en')})`);
  expect(rowOf('stream:latest:data')).toContain(`at most ${frameBytesMax / 2 ** 20} MiB`);
  expect(rowOf('stream:latest:data')).toContain(`After ${frameIdleMs / 1_000} s`);
});
