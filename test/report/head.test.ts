import { expect, test } from 'vitest';
import { WORKGROUP } from '../publish/support.ts';
import { openReport } from './support.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const queries: Readonly<Record<string, string>> = {
  'daily-energy/explain': `?device=${DEVICE}&day=2026-01-01`,
  'daily-energy/changes': '?since=2026-01-01T00:00:00Z',
};

test('HEAD on every report is answered as GET is, without the body', async () => {
  const at = await openReport({ sites: [{ name: 'site' }] } as never);
  const { paths } = (await (await fetch(`${at.base}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const reports = Object.keys(paths).filter(
    (path) => path.startsWith('/api/v1/orgs/') && 'get' in paths[path]!,
  );
  expect(reports.length).toBeGreaterThan(8);
  const workgroup = WORKGROUP;
  for (const path of reports) {
    const name = path.replace('/api/v1/orgs/{workgroupId}/', '');
    const url = `${at.base}${path.replace('{workgroupId}', workgroup).replace(/\{\w+\}/g, 'site')}${queries[name] ?? ''}`;
    const headers = { authorization: `Bearer ${at.token}` };
    const got = await fetch(url, { headers });
    const body = await got.text();
    const head = await fetch(url, { method: 'HEAD', headers });
    expect({
      path,
      status: head.status,
      type: head.headers.get('content-type'),
      body: await head.text(),
    }).toEqual({
      path,
      status: got.status,
      type: got.headers.get('content-type'),
      body: '',
    });
    expect([path, head.headers.get('etag')]).toEqual([path, got.headers.get('etag')]);
    expect(body).not.toBe('');
    expect([path, got.status]).not.toEqual([path, 405]);
    // Nobody is let in by another method.
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(401);
  }
});
