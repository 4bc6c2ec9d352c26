import { expect, test } from 'vitest';
import type { ExplainedSource } from '../../src/web/facts/answers.ts';
import { LimitTable } from '../../src/web/parts/limit-table.tsx';
import { renderPart } from './support/render-part.ts';

type Limits = NonNullable<ExplainedSource['limits']>;
const none = { value: null, from: 'none', text: 'there is none' } as const;
const limits: Limits = {
  maxPowerW: { value: 12_500, from: 'configured', text: 'as it is configured' },
  jitterWh: { value: 0.25, from: 'learnt', text: 'from 30 days' },
  resolutionWh: { value: 10, from: 'learnt', text: 'from 30 days' },
  modulusWh: { value: 100_000_000, from: 'default', text: 'eight digits' },
  maxGapMilliseconds: { value: 900_000, from: 'default', text: 'a quarter of an hour' },
  intervalMilliseconds: { value: 60_000, from: 'learnt', text: 'from 30 days' },
};
const shown = (changed: Partial<Limits> = {}) =>
  renderPart(LimitTable, { limits: { ...limits, ...changed } }).lines;

test('each limit has its value in its unit, and its origin', () => {
  expect(shown()).toEqual([
    'Limits',
    'Limit | Value | From | Why',
    'Highest power that is believed | 12.5 kW {12500} | configured | as it is configured',
    'Falls of a register that are ignored | 0.25 Wh | learnt | from 30 days',
    'Step of the register | 10 Wh | learnt | from 30 days',
    'The register begins again at | 100,000,000 Wh | default | eight digits',
    'Longest gap between samples of power | 15 min {900000} | default | a quarter of an hour',
    'Length of an interval | 1 min {60000} | learnt | from 30 days',
    '<Limits>',
  ]);
});

test('limits that do not apply are left out, unless they are configured so', () => {
  const rows = shown({
    maxPowerW: { value: null, from: 'configured', text: 'it is switched off' },
    jitterWh: none,
    resolutionWh: none,
    modulusWh: { ...none, from: 'default' },
    maxGapMilliseconds: { value: 0, from: 'none', text: 'no gap' },
    intervalMilliseconds: none,
  }).slice(2);
  expect(rows).toEqual([
    'Highest power that is believed | – | configured | it is switched off',
    'Longest gap between samples of power | 0 ms {0} | none | no gap',
    '<Limits>',
  ]);
});
