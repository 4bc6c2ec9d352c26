import { expect, test } from 'vitest';
import type { Audit } from '../../src/audit/audit.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { auditConfigChanges, auditReload } from '../../src/service/audit-config-changes.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a reload is recorded for the workgroups that it changed, and not again at the next start', () => {
  const dataDir = tempDir();
  const roles = ['stream', 'worker'];
  const entries: Array<[string, unknown]> = [];
  const audit: Pick<Audit, 'record'> = {
    record: (workgroupId, { data }) => void entries.push([workgroupId, data]),
  };
  const configOf = (workgroups: object[]) => configSchema.parse({ dataDir, workgroups });
  const first = configOf([{ id: 'home' }, { id: 'plant' }, { id: 'old' }]);
  auditConfigChanges(first, roles, audit);
  const workgroups = createWorkgroups(first);
  const config = configOf([{ id: 'home', timezone: 'Europe/Paris' }, { id: 'plant' }, { id: 'new' }]);
  const change = workgroups.replace(config);
  auditReload({ config, change, workgroups, roles, audit });
  expect(entries).toEqual([
    ['new', { 'workgroups.new': 'added' }],
    ['home', { 'workgroups.home.timezone': 'Etc/UTC -> Europe/Paris' }],
  ]);
  auditConfigChanges(config, roles, audit);
  expect(entries).toHaveLength(2);
});

test('changed alerts are recorded once for every workgroup, without secrets', () => {
  const dataDir = tempDir();
  const roles = ['worker'];
  const entries: Array<[string, unknown]> = [];
  const audit: Pick<Audit, 'record'> = {
    record: (workgroupId, { data }) => void entries.push([workgroupId, data]),
  };
  const configOf = (silentLimit: string) =>
    configSchema.parse({
      dataDir,
      workgroups: [{ id: 'home' }, { id: 'plant' }],
      alerts: {
        channels: [{ id: 'ops', webhook: { url: 'http://127.0.0.1:9', secret: 'not-for-the-log' } }],
        conditions: { deviceSilent: { limit: silentLimit } },
      },
    });
  const first = configOf('1h');
  auditConfigChanges(first, roles, audit);
  const workgroups = createWorkgroups(first);
  expect(workgroups.replace(configOf('1h')).alerts).toBe(false);
  const config = configOf('2h');
  const change = workgroups.replace(config);
  expect(change).toMatchObject({ alerts: true, changed: [] });
  expect(workgroups.alerts().conditions.deviceSilent).toMatchObject({ limit: 2 * 3_600_000 });
  auditReload({ config, change, workgroups, roles, audit });
  const data = { 'alerts.conditions.deviceSilent.limit': '3600000 -> 7200000' };
  expect(entries).toEqual([
    ['home', data],
    ['plant', data],
  ]);
  auditConfigChanges(config, roles, audit);
  expect(entries).toHaveLength(2);
});
