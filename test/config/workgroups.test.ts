import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups, needsReopening, type WorkgroupsChange } from '../../src/config/workgroups.ts';

const settings = (workgroups: object[], exports: object[] = []) =>
  configSchema.parse({ workgroups, exports });
const daily = { report: 'daily_energy', range: 'yesterday', format: 'csv', schedule: '0 2 * * *' };

test('a replacement reports what was added, changed and removed, and keeps the objects of unchanged workgroups', () => {
  const workgroups = createWorkgroups(settings([{ id: 'home' }, { id: 'plant' }, { id: 'old' }]));
  const [home, plant, old] = workgroups.list();
  const change = workgroups.replace(
    settings([{ id: 'new' }, { id: 'plant', timezone: 'Europe/Paris' }, { id: 'home' }]),
  );
  expect(change).toMatchObject({ added: [{ id: 'new' }], removed: [old] });
  expect(change.changed).toEqual([{ before: plant, after: workgroups.get('plant') }]);
  expect(workgroups.list()).toMatchObject([{ id: 'new' }, { id: 'plant', timezone: 'Europe/Paris' }, {}]);
  expect(workgroups.get('home')).toBe(home);
  expect(workgroups.get('old')).toBeUndefined();
});

test('a listener gets each change, until it stops to listen; equal settings are no change', () => {
  const workgroups = createWorkgroups(settings([{ id: 'home' }]));
  const changes: WorkgroupsChange[] = [];
  const stop = workgroups.onChange((change) => changes.push(change));
  const change = workgroups.replace(settings([{ id: 'home' }, { id: 'plant' }]));
  expect(changes).toEqual([change]);
  workgroups.replace(settings([{ id: 'home' }, { id: 'plant' }]));
  expect(changes).toHaveLength(1);
  stop();
  workgroups.replace(settings([]));
  expect(changes).toHaveLength(1);
});

test('a workgroup has changed if its exports have changed', () => {
  const folder = { destination: { folder: '/tmp' } };
  const with1 = [{ id: 'one', workgroup: 'home', ...daily, ...folder }];
  const workgroups = createWorkgroups(settings([{ id: 'home' }, { id: 'plant' }], with1));
  expect(workgroups.exportsOf('home').map(({ id }) => id)).toEqual(['one']);
  expect(workgroups.exportsOf('plant')).toEqual([]);
  const change = workgroups.replace(settings([{ id: 'home' }, { id: 'plant' }]));
  expect(change.changed.map(({ after }) => after.id)).toEqual(['home']);
  expect(workgroups.exportsOf('home')).toEqual([]);
});

test('every listener is called, even if an earlier one fails', () => {
  const workgroups = createWorkgroups(settings([]));
  const called: string[] = [];
  workgroups.onChange(() => {
    throw new Error('the first listener failed');
  });
  workgroups.onChange(({ added }) => called.push(...added.map(({ id }) => id)));
  expect(() => workgroups.replace(settings([{ id: 'home' }]))).toThrow('the first listener failed');
  expect(called).toEqual(['home']);
});

test.each([
  [{ deviceGroups: { roof: ['7c9e6679-7425-40de-944b-e07fc1f90ae7'] } }, false],
  [{ deviceTimeout: '1h' }, false],
  [{ totalSource: 'total' }, true],
])('it is up to what has changed (%j) whether a workgroup is opened again: %s', (change, isNeeded) => {
  const [before, after] = [{}, change].map(
    (settings) => configSchema.parse({ workgroups: [{ id: 'home', ...settings }] }).workgroups[0]!,
  );
  expect(needsReopening({ before: before!, after: after! })).toBe(isNeeded);
});

test('a workgroup with changed inputs keeps its warehouse open', () => {
  const withTopic = (topic: string) => {
    const rules = [{ topic, table: 't', device: 'x', fields: { p: 'payload' } }];
    const inputs = { mqtt: [{ id: 'house', url: 'mqtt://127.0.0.1', rules }] };
    return configSchema.parse({ workgroups: [{ id: 'home', inputs }] }).workgroups[0]!;
  };
  expect(needsReopening({ before: withTopic('a'), after: withTopic('b') })).toBe(false);
  expect(
    needsReopening({ before: withTopic('a'), after: { ...withTopic('b'), timezone: 'Europe/Paris' } }),
  ).toBe(true);
});
