// @module-tag slow
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { homeWorkgroup, openService } from '../operate/operate-fixture.ts';
import { until } from '../support/until.ts';

const root = '/api/v1/orgs/home';
const bodies = [
  ['POST', '/api/v1/tables/home/solar/messages'],
  ['POST', '/api/v2/write?bucket=home'],
  ['POST', '/write?db=home'],
  ['PUT', `${root}/meter-data`],
  ['PUT', `${root}/budget-data`],
  ['POST', `${root}/corrections`],
  ['POST', `${root}/backfills`],
  ['POST', `${root}/backfills/preview`],
  ['POST', `${root}/exports/monthly/run`],
  ['POST', `${root}/quarantine/retry`],
] as const;

test('every address that takes a body refuses a token before the body arrives', {
  timeout: 180_000,
}, async () => {
  const { service, issue } = await openService({ workgroups: [homeWorkgroup] });
  const weak = await issue({ permissions: ['org:audit'] });
  for (const [token, status] of [
    ['none', '401'],
    [weak, '403'],
  ])
    for (const [method, path] of bodies) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      let received = '';
      socket.on('data', (data) => {
        received += data;
      });
      const head = `Host: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`;
      socket.write(`${method} ${path} HTTP/1.1\r\n${head}`);
      await until(`${method} ${path} is answered`, () => received !== '');
      expect([path, received.slice(9, 12)]).toEqual([path, status]);
    }
});
