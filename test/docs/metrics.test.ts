import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { type MetricDefinition, metricTable } from '../../src/metrics/metric-table.ts';
import { pages, repositoryRoot } from '../support/readme.ts';

const page = pages.get('docs/metrics.md')!;
const table = new Map<string, MetricDefinition>(Object.entries(metricTable));
const rules = parse(readFileSync(join(repositoryRoot, 'ops', 'prometheus', 'rules.yml'), 'utf8')) as {
  groups: Array<{ rules: Array<{ alert: string; expr: string; labels: { severity: string } }> }>;
};
const alerts = rules.groups.flatMap((group) => group.rules);

test('the page describes every metric: type, labels, unit and meaning', () => {
  const rows = [
    ...page.matchAll(/^\| `(\w+)` \| (gauge|counter|histogram) \| (.*?) \| (.*?) \| (.+) \|$/gm),
  ].map(([, name, type, labels, unit, help]) => [
    name,
    type,
    [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label),
    unit,
    help,
  ]);
  expect(rows).toEqual(
    [...table].map(([name, { type, labels, help }]) => [name, type, [...labels], unitOf(name), help]),
  );
});

/** Base units only, as the name says. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's';
  return name.endsWith('_bytes') ? 'bytes' : '';
}

test('the page lists every alert with its severity', () => {
  const rows = [...page.matchAll(/^\| `(Wattline\w+)` \| (\w+) \|/gm)].map(([, alert, severity]) => [
    alert,
    severity,
  ]);
  expect(rows).toEqual(alerts.map(({ alert, labels }) => [alert, labels.severity]));
});

/** The metrics of an expression. Suffixes of histograms are removed. */
function metricsOf(expression: string): string[] {
  const names = expression.match(/\b(?:wattline|process|nodejs)_\w+/g) ?? [];
  return names.map((name) => (table.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')));
}

const dashboards = globSync('ops/grafana/*.json', { cwd: repositoryRoot }).map((path) => ({
  path,
  text: readFileSync(join(repositoryRoot, path), 'utf8'),
}));

test('every metric of an alert and of a panel exists, and has the labels that are used', () => {
  const queries = [
    ...alerts.map(({ alert, expr }) => ({ where: alert, expr })),
    ...dashboards.flatMap(({ path, text }) => panelsOf(text).map((expr) => ({ where: path, expr }))),
  ];
  expect(queries.length).toBeGreaterThan(40);
  for (const { where, expr } of queries) {
    const names = metricsOf(expr);
    expect([where, expr, names.filter((name) => !table.has(name))]).toEqual([where, expr, []]);
    // A metric in an expression without a metric of ours is only `up`.
    if (names.length === 0) expect(expr).toMatch(/^up\{/);
    for (const [, name, selector] of expr.matchAll(/\b(wattline_\w+)\{([^}]*)\}/g))
      for (const [, label] of selector!.matchAll(/(\w+)(?:=|!)/g))
        expect([expr, ...table.get(metricsOf(name!)[0]!)!.labels, 'le', 'job']).toContain(label);
  }
});

test('every metric that has a meaning for people is on a dashboard', () => {
  const shown = new Set(dashboards.flatMap(({ text }) => panelsOf(text).flatMap(metricsOf)));
  expect([...table.keys()].filter((name) => !shown.has(name))).toEqual([]);
});

interface Panel {
  id: number;
  type: string;
  gridPos: object;
  datasource?: { uid: string };
}

test('panels have unique ids and places, and data sources', () => {
  expect(dashboards.map(({ path }) => path).sort()).toEqual([
    'ops/grafana/wattline-energy.json',
    'ops/grafana/wattline-operators.json',
  ]);
  for (const { text } of dashboards) {
    const { panels } = JSON.parse(text) as { panels: Panel[] };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ gridPos }) => JSON.stringify(gridPos))).size).toBe(panels.length);
    // A variable, so that a file works in each installation.
    for (const { type, datasource } of panels)
      if (type !== 'row') expect(datasource!.uid).toMatch(/^\$\{datasource\}$/);
  }
});

/** The expressions of a dashboard, without its variables. */
function panelsOf(text: string): string[] {
  const { panels } = JSON.parse(text) as { panels: Array<{ targets?: Array<{ expr: string }> }> };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
