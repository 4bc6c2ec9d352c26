import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { countBacklogs } from '../../src/operate/count-backlogs.ts';

/** A stream that answers each request with these members; the last one for all that follow. */
async function startStream(...answers: Array<{ status?: number; count?: number; after?: string }>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.prefer} ${request.headers.authorization ?? ''}`);
    const { status = 200, count = 0, after } = (answers.length > 1 ? answers.shift() : answers[0])!;
    response
      .writeHead(status, after === undefined ? {} : { 'stream-lag-messages': after })
      .end(encodeCbor({ count }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const status = (workgroupId: string, nextOffset?: string) => ({
  workgroupId,
  poll: nextOffset === undefined ? {} : { nextOffset },
});

test('the messages of an answer and those after it have not landed', async () => {
  const { asked, url } = await startStream({ count: 1, after: '6' }, { count: 0, after: '0' });
  const address = { url: `${url}/`, workgroup: 'my home', table: 'solar', token: 'secret' };
  const found = await countBacklogs([status('home', '17')], async () => address);
  expect(found).toEqual(new Map([['home', 7]]));
  const { token: _, ...open } = address;
  expect(await countBacklogs([status('home')], async () => open)).toEqual(new Map([['home', 0]]));
  expect(asked).toEqual([
    '/api/v1/tables/my%20home/solar/latest?limit=1&offset=17 wait=0 Bearer secret',
    '/api/v1/tables/my%20home/solar/latest?limit=1 wait=0 ',
  ]);
});

test('a workgroup whose stream refuses, does not tell or cannot be asked is left out', async () => {
  const { url } = await startStream({ status: 403, count: 1, after: '6' }, { count: 1 });
  const address = { url, workgroup: 'home', table: 'solar' };
  expect(await countBacklogs([status('home')], async () => address)).toEqual(new Map());
  expect(await countBacklogs([status('home')], async () => address)).toEqual(new Map());
  expect(await countBacklogs([status('home')], async () => undefined)).toEqual(new Map());
  const failing = () => Promise.reject(new Error('it is locked'));
  expect(await countBacklogs([status('home')], failing)).toEqual(new Map());
});

test('of many workgroups only the first 200 are asked', async () => {
  const asked: string[] = [];
  const many = Array.from({ length: 201 }, (_, index) => status(`w${index}`));
  await countBacklogs(many, async (workgroupId) => {
    asked.push(workgroupId);
    return undefined;
  });
  expect(asked).toEqual(many.slice(0, 200).map(({ workgroupId }) => workgroupId));
});
