import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { hostOf, machineName } from '../../src/lib/machine-name.ts';

test('the name of a machine is the same after another start', () => {
  expect(hostOf(machineName())).toBe(hostname());
  expect(hostOf('worker-1')).toBe('worker-1');
});
