import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { calledAddress, isOnlyLocal, workerSchema } from '../../src/config/worker-settings.ts';

const host = '10.0.0.5';

describe('other machines call a worker', () => {
  test.each([
    ['worker-1', { host: 'worker-1', port: 8090 }],
    ['worker_1.example.com.:80', { host: 'worker_1.example.com.', port: 80 }],
    ['10.0.0.6:1', { host: '10.0.0.6', port: 1 }],
    ['[fd00::5]', { host: 'fd00::5', port: 8090 }],
    ['[fd00::5]:65535', { host: 'fd00::5', port: 65_535 }],
  ])('by its address %s, with the port on which it listens if the address has none', (address, called) => {
    expect(workerSchema.parse({ address }).address).toBe(address);
    expect(calledAddress({ host, address }, 8_090)).toEqual(called);
  });

  test('by its host, or by the name of the machine if it listens on all addresses', () => {
    const called = (one: string) => calledAddress({ host: one, address: undefined }, 8_090);
    expect(called(host)).toEqual({ host, port: 8_090 });
    for (const every of ['0.0.0.0', '::']) expect(called(every)).toEqual({ host: hostname(), port: 8_090 });
  });
});

test.each([
  'worker-1:0',
  'worker-1:65536',
  'worker-1:',
  'worker 1',
  'http://worker-1',
  '..',
  'a..b',
  '999.1.1.1',
  '1.2.3',
  'fd00::5',
  '[:::]',
  '[10.0.0.5]',
  '[fe80::1%eth0]',
  '',
])('the address %j is refused', (address) => {
  expect(workerSchema.safeParse({ address }).error?.issues[0]?.message).toMatch(/^must be a host, or a host/);
});

test.each([
  [true, '127.0.0.1', undefined],
  [true, '127.0.0.1', '10.0.0.5'],
  [true, '0.0.0.0', 'localhost:8090'],
  [false, '0.0.0.0', undefined],
  [false, '0.0.0.0', '10.0.0.5'],
])('it is %s that a worker on host %s with address %s is out of reach', (isLocal, host, address) => {
  expect(isOnlyLocal({ host, address })).toBe(isLocal);
});
