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
