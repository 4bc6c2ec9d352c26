import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import type { IssueRequest } from '../../src/access/grant.ts';
import type { ConfigInput } from '../../src/config/config.ts';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { atEnd } from '../support/shared.ts';
import { until } from '../support/until.ts';
import { createUpProcess, type ServiceProcess } from '../support/up-process.ts';

export const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
export const ROOF = '0b0e7c1e-0000-4000-8000-000000000001';

/** A real `wattline up` with a workgroup `home`, and requests to its endpoints. It ends with the test. */
export async function openService(input: ConfigInput) {
  const { cwd, service, issueFor, close } = await start(input);
  atEnd(close);
  return { cwd, service, ...requestsOf('home', service, issueFor) };
}

/**
 * A real `wattline up` for all tests of a file, each with a separate workgroup. The file closes it.
 * @param ids the workgroups, which differ only in their ids
 */
export async function openSharedService(
  ids: readonly string[],
  workgroup: Workgroup,
  more: Omit<ConfigInput, 'workgroups'> = {},
) {
  const started = await start({ ...more, workgroups: ids.map((id) => ({ ...workgroup, id })) });
  return { ...started, of: (id: string) => requestsOf(id, started.service, started.issueFor) };
}

async function start(input: ConfigInput) {
  const cwd = mkdtempSync(join(tmpdir(), 'wattline-test-'));
  const service = await createUpProcess(cwd, { logLevel: 'silent', ...input });
  await service.start();
  const access = await createAccess({
    dataDir: service.config.dataDir,
    ...service.config.access,
    clock: systemClock,
  });
  const issueFor: IssueFor = async (workgroupId, scope) =>
    (await access.issue({ subject: 'test', scopes: { [workgroupId]: scope }, lifetimeMs: HOUR_MS })).token;
  async function close() {
    await service.stop();
    rmSync(cwd, { recursive: true, force: true });
  }
  return { cwd, service, issueFor, close };
}

type Workgroup = NonNullable<ConfigInput['workgroups']>[number];
type IssueFor = (workgroupId: string, scope: IssueRequest['scopes'][string]) => Promise<string>;

/** Requests to the endpoints of a workgroup. */
function requestsOf(id: string, service: ServiceProcess, issueFor: IssueFor) {
  async function ask(
    method: string,
    path: string,
    { body, token = service.token, headers = {} }: AskOptions = {},
  ) {
    const response = await fetch(`${service.url}/api/v1/orgs/${id}/${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      type: response.headers.get('content-type'),
      body: (text === '' ? null : JSON.parse(text)) as never,
    };
  }
  async function send(messages: unknown[], table = 'solar') {
    const response = await fetch(`${service.url}/api/v1/tables/${id}/${table}/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(messages),
    });
    expect(response.status).toBe(200);
  }
  const get = (path: string, options?: AskOptions) => ask('GET', path, options);
  /** The lines of a list as CSV. */
  async function csv(path: string): Promise<string[]> {
    const response = await fetch(`${service.url}/api/v1/orgs/${id}/${path}`, {
      headers: { Authorization: `Bearer ${service.token}`, Accept: 'text/csv' },
    });
    expect(response.headers.get('content-type')).toContain('text/csv');
    return (await response.text()).trimEnd().split('\r\n');
  }
  return {
    issue: (scope: IssueRequest['scopes'][string]) => issueFor(id, scope),
    ask,
    get,
    csv,
    send,
    /** Waits until an answer has these members. */
    async untilAnswer<Answer>(path: string, isWanted: (answer: Answer) => boolean): Promise<Answer> {
      let last: Answer | undefined;
      await until(`GET ${path} answers as wanted`, async () => {
        const { status, body } = await get(path);
        last = body;
        return status === 200 && isWanted(body);
      });
      return last!;
    },
  };
}

interface AskOptions {
  body?: unknown;
  token?: string;
  headers?: Record<string, string>;
}

export const homeWorkgroup = {
  id: 'home',
  timezone: 'Europe/Paris',
  devices: [
    { id: GARAGE, name: 'garage' },
    { id: ROOF, name: 'roof' },
  ],
  deviceGroups: { garage: [GARAGE] },
  energyStreams: [
    { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '1 MW' } as const,
  ],
};

/** Two readings of a device on a day of May. */
export const readings = (device: string, ...values: Array<[at: string, totalWh: unknown]>) =>
  values.map(([at, total_wh]) => ({ device, event_time: Date.parse(at), data: { total_wh } }));
