// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { openReport } from '../report/report-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { runCommand } from '../support/run-command.ts';
import { landStatuses } from '../warehouse/land-statuses.ts';

test('status --devices lists the devices that are published, the offline ones first', async () => {
  const devices = [{ id: deviceId(1), name: 'garage' }];
  const at = await openReport({ devices });
  await landStatuses(at.shard, 0, [
    [1, 'online', 'data received'],
    [2, 'offline', 'unplugged'],
  ]);
  await at.shard.transaction((connection) => noteDeviceStatus(connection, at.clock.now()));
  await at.publish();
  const config = { dataDir: at.dataDir, workgroups: [{ id: WORKGROUP, devices }] };
  writeFileSync(join(at.dataDir, 'wattline.yaml'), stringify(config));
  const status = (...args: string[]) => runCommand(['status', '--devices', ...args], { cwd: at.dataDir });
  const { stdout } = await status();
  expect(stdout).toMatch(/ - +offline +2\d{3}-.* unplugged .*\n.* garage +online +2\d{3}-.* data received /);
  const json = await status('offline', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject([
    { workgroupId: WORKGROUP, device: deviceId(2), state: 'offline', reason: 'unplugged', lastSeen: null },
  ]);
});
