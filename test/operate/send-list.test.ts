import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { sendList } from '../../src/operate/send-list.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { tempDir } from '../support/temp-dir.ts';

test.each(['application/json', 'text/csv'])(
  'a list as %s has another ETag as soon as its content differs',
  async (accept) => {
    const lake = await openLakeReader({ lakeDir: tempDir() });
    onTestFinished(() => lake.close());
    let rows = [{ device_name: 'roof' }];
    const app = fastify();
    app.get('/devices', (request, reply) =>
      sendList(request, reply, lake, { rows }, { name: 'devices', columns: ['device_name'], rows }),
    );
    const ask = (etag = '') => app.inject({ url: '/devices', headers: { accept, 'if-none-match': etag } });
    const first = await ask();
    expect(first.body).toContain('roof');
    const etag = String(first.headers.etag);
    expect((await ask(etag)).statusCode).toBe(304);
    rows = [{ device_name: 'garage' }];
    const changed = await ask(etag);
    expect(changed.statusCode).toBe(200);
    expect(changed.body).toContain('garage');
  },
);
