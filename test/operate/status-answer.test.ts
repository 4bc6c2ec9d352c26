import { expect, test } from 'vitest';
import { correctionRows } from '../../src/operate/answer-corrections.ts';
import { statusAnswer } from '../../src/operate/status-route.ts';
import type { WorkgroupState } from '../../src/operate/workgroup-state.ts';
import { emptyStatus } from '../../src/pipeline/workgroup-status.ts';
import { deviceId } from '../support/messages.ts';

const AT_MS = Date.UTC(2026, 10, 20);
const home = { id: 'home', timezone: 'Etc/UTC' };
const stateOf = (updatedAtMs: number, more: Partial<WorkgroupState> = {}): WorkgroupState => ({
  ...emptyStatus('home', updatedAtMs),
  state: 'running',
  imports: [],
  newestImports: [],
  exports: [],
  troubles: [],
  ...more,
});

test('a fact that is not known is null in the status, and 0 is not', () => {
  const never = statusAnswer(stateOf(0, { state: 'never run' }), home);
  expect(never).toMatchObject({ state: 'never run', health: 'bad', updatedAt: null, lagSeconds: null });
  expect(never).toMatchObject({ lastHour: null, newestReadingAt: null, devices: null });
  expect(never.stages.poll).toEqual({
    ...{ lastSuccessAt: null, lastError: null, failingSince: null, nextOffset: null, transport: null },
    ...{ upToDate: null, lagMessages: null, lagSeconds: null },
  });
  const running = statusAnswer(
    stateOf(AT_MS, {
      lagSeconds: 0,
      poll: { lagMessages: 0, lagSeconds: 0, upToDate: false, lastSuccessAtMs: AT_MS },
      publish: { generation: 7, lastError: { atMs: AT_MS, message: 'no answer' }, failingSinceMs: AT_MS },
      newestReadingAtMs: AT_MS,
    }),
    home,
  );
  const at = '2026-11-20T00:00:00.000Z';
  expect(running).toMatchObject({ updatedAt: at, lagSeconds: 0, newestReadingAt: at });
  expect(running.stages).toMatchObject({
    poll: { lastSuccessAt: at, upToDate: false, lagMessages: 0, lagSeconds: 0 },
    publish: { generation: 7, lastError: { at, message: 'no answer' }, failingSince: at },
  });
});

test('a worker of an older version counts no devices that are asleep', () => {
  const { asleep: _, ...older } = { online: 1, offline: 2, asleep: 3, unknown: 4 };
  const text = JSON.stringify(stateOf(AT_MS, { devices: { ...older, asleep: 3 } }));
  const read = JSON.parse(text.replace(',"asleep":3', '')) as WorkgroupState;
  expect(statusAnswer(read, home).devices).toEqual({ ...older, asleep: 0 });
  expect(statusAnswer(JSON.parse(text) as WorkgroupState, home).devices).toEqual({ ...older, asleep: 3 });
});

test('a row of a correction says what it undoes and what undoes it', () => {
  const correction = {
    ...{ id: 1, kind: 'set' as const, device: deviceId(1), source: 'pv', table: 'solar', field: 'total' },
    ...{ day: null, timezone: null, from: 'a', to: 'b', energyWh: 5, basis: null, reason: 'why' },
    ...{ author: 'ann', at: 'c', undoes: 3, undoneBy: 4, days: [], dayCount: 2 },
  };
  expect(correctionRows([correction]).rows).toEqual([
    {
      ...{
        correction: 1,
        kind: 'set',
        device: deviceId(1),
        source: 'pv',
        table_name: 'solar',
        field: 'total',
      },
      ...{ day: null, timezone: null, from_time: 'a', to_time: 'b', energy_wh: 5, changed_days: 2 },
      ...{ undoes: 3, undone_by: 4, reason: 'why', actor: 'ann', happened_at: 'c' },
    },
  ]);
});
