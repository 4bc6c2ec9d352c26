import { expect, test } from 'vitest';
import { describeState } from '../../src/cli/demo/demo-view.ts';

test('a line of the demo has the time of its zone, and the energy of all series', () => {
  const energyWh = { 'd1.meter': 1_500, 'd2.meter': 500 };
  const state = { nowMs: Date.UTC(2026, 10, 20), timezone: 'Asia/Kathmandu', status: undefined, energyWh };
  expect(describeState({ ...state, wide: false })).toMatch(/^05:45:00 .* today 2,000 Wh in 2 series\n$/);
  expect(describeState({ ...state, wide: true })).toMatch(
    /\n\nToday \(device.source\) +Wh\nd1\.meter +1,500\nd2\.meter +500\n$/,
  );
});
