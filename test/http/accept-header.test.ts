import { expect, test } from 'vitest';
import { acceptsGzip, preferredType, prefersJson } from '../../src/http/accept-header.ts';

test('the preferred type is the first one without a header, and none if no type is accepted', () => {
  const types = ['application/json', 'text/csv; header=present'] as const;
  expect(preferredType(undefined, types)).toBe('application/json');
  expect(preferredType('*/*', types)).toBe('application/json');
  expect(preferredType('text/csv', types)).toBe('text/csv; header=present');
  expect(preferredType('application/json;q=0.1, text/csv;q=0.2', types)).toBe('text/csv; header=present');
  expect(preferredType('text/csv; header=absent', types)).toBeUndefined();
  expect(preferredType('image/png', types)).toBeUndefined();
});

test('the stream answers in CBOR, unless the caller prefers JSON', () => {
  expect(
    [undefined, '*/*', 'application/cbor', 'application/cbor, application/json'].map(prefersJson),
  ).toEqual(Array(4).fill(false));
  expect(['application/json', 'application/json, application/cbor;q=0.9'].map(prefersJson)).toEqual([
    true,
    true,
  ]);
});

test('gzip is used only if the caller names it', () => {
  expect(['gzip', 'br, gzip;q=0.1', '*'].map(acceptsGzip)).toEqual([true, true, true]);
  expect([undefined, '', 'br', 'gzip;q=0', 'identity'].map(acceptsGzip)).toEqual(Array(5).fill(false));
});

test('of a long header the first 1,000 characters count', () => {
  const json = (characters: number) => `${'text/plain,'.padEnd(characters, ' ')}application/json`;
  expect(prefersJson(json(900))).toBe(true);
  expect(prefersJson(json(1_000))).toBe(false);
});
