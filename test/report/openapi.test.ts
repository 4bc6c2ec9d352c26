import { expect, test } from 'vitest';
import { shared } from '../support/shared.ts';
import { openReport } from './report-fixture.ts';

interface Document {
  openapi: string;
  security: unknown;
  paths: Record<
    string,
    Record<
      string,
      {
        parameters: Array<{ name: string; in: string; required?: boolean }>;
        responses: Record<string, { description: string; content: Record<string, { example?: unknown }> }>;
      }
    >
  >;
}

const orgs = '/api/v1/orgs/{workgroupId}';
const reports = [`${orgs}/daily-energy`, `${orgs}/daily-energy/details`, `${orgs}/interval-energy`];

const report = shared(() => openReport());

test('the OpenAPI description has the endpoints, their parameters and their answers', async () => {
  const at = report();
  const response = await at.get('/openapi.json', { token: undefined });
  expect(response.headers.get('content-type')).toContain('application/json');
  const document = (await response.json()) as Document;
  expect(document.openapi).toBe('3.1.0');
  expect(Object.keys(document.paths)).toEqual(
    expect.arrayContaining([...reports, `${orgs}/device-status`, `${orgs}/daily-energy/changes`]),
  );
  expect(document.security).toEqual([{ token: [] }]);
  for (const path of reports) {
    const { get: operation, ...others } = document.paths[path]!;
    expect(others).toEqual({});
    expect(
      operation!.parameters.map(({ name, in: place, required }) => [name, place, required ?? false]),
    ).toEqual([
      ['startDate', 'query', false],
      ['endDate', 'query', false],
      ['groupBy', 'query', false],
      ['devices', 'query', false],
      ['format', 'query', false],
      ['after', 'query', false],
      ...(path === reports[0]
        ? [
            ['resolution', 'query', false],
            ['top', 'query', false],
          ]
        : []),
      ...(path === reports[2]
        ? [
            ['top', 'query', false],
            ['timezone', 'query', false],
          ]
        : []),
      ['workgroupId', 'path', true],
    ]);
    expect(Object.keys(operation!.responses)).toEqual(['200', '304', '400', '401', '403', '429', '503']);
    expect(operation!.responses['400']!.description).toMatch(/unknown, empty, given twice/);
    const answer = operation!.responses['200']!.content['application/json'] as {
      schema?: { example?: unknown; examples?: unknown };
      example?: unknown;
    };
    expect([path, answer.example ?? answer.schema?.example ?? answer.schema?.examples]).not.toContain(
      undefined,
    );
  }
});

test('meters, budgets and sites are described with examples', async () => {
  const at = report();
  const document = (await (await at.get('/openapi.json', { token: undefined })).json()) as Document;
  const range = [
    ['startDate', true],
    ['endDate', true],
  ];
  const workgroup = ['workgroupId', true];
  const format = [
    ['format', false],
    ['after', false],
  ];
  const meters = [...range, ['timezone', false], ['meterCodes', false], ...format];
  const described: Array<[path: string, parameters: unknown[]]> = [
    ['meter-data', [...meters, workgroup]],
    ['meter-data/details', [...meters, workgroup]],
    ['budget-data', [...meters, ['scenario', false], workgroup]],
    ['budget-data/details', [...meters, ['scenario', false], workgroup]],
    ['sites/{site}/reconciliation', [...range, ['timezone', false], ...format, workgroup, ['site', true]]],
    [
      'sites/{site}/variance',
      [...range, ['timezone', false], ...format, ['scenario', false], workgroup, ['site', true]],
    ],
  ];
  for (const [path, parameters] of described) {
    const { get: operation } = document.paths[`${orgs}/${path}`]!;
    expect(operation!.parameters.map(({ name, required }) => [name, required ?? false])).toEqual(parameters);
    expect(operation!.responses).toHaveProperty('304');
    expect([path, JSON.stringify(operation!.responses['200'])]).toEqual([
      path,
      expect.stringContaining('"example'),
    ]);
  }
});

test('the OpenAPI description of an explanation fits its answer', async () => {
  const at = report();
  const document = (await (await at.get('/openapi.json', { token: undefined })).json()) as Document;
  const operation = document.paths[`${orgs}/daily-energy/explain`]!.get!;
  expect(operation.parameters.map(({ name, required }) => [name, required ?? false])).toEqual([
    ['device', true],
    ['day', true],
    ['source', false],
    ['workgroupId', true],
  ]);
  expect(Object.keys(operation.responses)).toEqual(['200', '304', '400', '401', '403', '404', '429', '503']);
  const text = JSON.stringify(operation.responses['200']);
  for (const member of ['readings', 'boundaries', 'versions', 'roundedWh'])
    expect(text).toContain(`"${member}"`);
});

test('every request has a unique name for clients that are generated', async () => {
  const at = report();
  const { paths } = (await (await at.get('/openapi.json', { token: undefined })).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const names = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(names).toEqual(
    expect.arrayContaining(['getDailyEnergy', 'getDailyEnergyDetails', 'getSitesReconciliation']),
  );
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^(?:get|put|post|delete)(?:[A-Z][a-z]+)+$/);
});

test('the address alone leads to the page', async () => {
  const at = report();
  const page = await at.get('/', { token: undefined });
  expect([page.status, new URL(page.url).pathname]).toEqual([200, '/docs']);
});

test('the page works without anything from elsewhere, under a content security policy', async () => {
  const at = report();
  const page = await at.get('/docs', { token: undefined });
  expect(page.status).toBe(200);
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'self'");
  // It is also served on plain HTTP to other hosts.
  expect(policy).not.toContain('upgrade-insecure-requests');
  const html = await page.text();
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
  expect(loaded.length).toBeGreaterThan(2);
  for (const url of loaded) {
    expect(url).not.toMatch(/^(?:https?:)?\/\//);
    const response = await at.get(new URL(url, page.url).pathname, { token: undefined });
    expect([url, response.status]).toEqual([url, 200]);
    await response.arrayBuffer();
  }
  const missing = await at.get('/docs/static/missing.js', { token: undefined });
  expect([missing.status, await missing.json()]).toMatchObject([404, { error: 'NotFound' }]);
  // The page itself has only scripts that the policy allows.
  for (const [, attributes] of html.matchAll(/<script([^>]*)>/g)) expect(attributes).toContain('src=');
});

test('integers have no limits that a page would show as an example', async () => {
  const at = report();
  const text = await (await at.get('/openapi.json', { token: undefined })).text();
  expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER));
  expect(text).toContain('"minimum":0');
});

test('errors have descriptions and a schema with the status of an error', async () => {
  const at = report();
  const text = await (await at.get('/openapi.json', { token: undefined })).text();
  const { paths } = JSON.parse(text) as Document;
  expect(text.includes('Default Response')).toBe(false);
  for (const [path, operations] of Object.entries(paths))
    for (const { responses } of Object.values(operations))
      for (const [code, { content }] of Object.entries(responses).filter(
        ([status]) => Number(status) >= 400,
      )) {
        const { schema } = content['application/json'] as {
          schema?: { properties: { status: { minimum: number; maximum: number } } };
        };
        expect([path, code, schema?.properties.status]).toMatchObject([
          path,
          code,
          { minimum: 400, maximum: 599 },
        ]);
      }
});
