import { expect, test } from 'vitest';
import { isMemberOn, metersOf, percentOf, siteDevicesOf } from '../../src/report/site-days.ts';

test('a member counts from its first day to its last, both included', () => {
  const daysOf = (validity: { from?: string; to?: string }) =>
    ['2026-04-30', '2026-05-01', '2026-05-02', '2026-05-03', '2026-05-04'].filter((day) =>
      isMemberOn({ meter: 'A', key: 'A', sign: 1, ...validity }, day),
    );
  expect(daysOf({ from: '2026-05-01', to: '2026-05-03' })).toEqual([
    '2026-05-01',
    '2026-05-02',
    '2026-05-03',
  ]);
  expect(daysOf({ to: '2026-04-30' })).toEqual(['2026-04-30']);
  expect(daysOf({ from: '2026-05-04' })).toEqual(['2026-05-04']);
  expect(daysOf({})).toHaveLength(5);
});

test('two sources of a device are two members, and the device itself is another one', () => {
  const id = '0b0e7c1e-0000-4000-8000-000000000001';
  const site = {
    ...{ name: 'house', absent: [], meters: [{ code: 'A', sign: -1 as const }] },
    devices: [
      { id, source: 'east', sign: 1 as const },
      { id, source: 'west', sign: 1 as const },
      { id, sign: 1 as const },
    ],
  };
  expect(siteDevicesOf(site).map(({ key }) => key)).toEqual([
    `device ${id} east`,
    `device ${id} west`,
    `device ${id} `,
  ]);
  expect(metersOf(site)).toEqual([{ meter: 'A', key: 'A', sign: -1 }]);
});

test('a share has two decimals, and none of nothing', () => {
  expect([percentOf(1, 3), percentOf(0, 5), percentOf(-1, 8), percentOf(5, 0)]).toEqual([
    33.33,
    0,
    -12.5,
    null,
  ]);
});
