import { expect, test } from 'vitest';
import { z } from 'zod';
import { permissions } from '../../src/access/grant.ts';
import { alertListSchema } from '../../src/operate/alert-schemas.ts';
import { backfillsSchema, gapsSchema } from '../../src/operate/backfill-schemas.ts';
import { exportListSchema } from '../../src/operate/export-schemas.ts';
import { importsSchema } from '../../src/operate/import-schema.ts';
import {
  auditListSchema,
  deviceListSchema,
  meterListSchema,
  siteListSchema,
  tokenListSchema,
} from '../../src/operate/listing-schemas.ts';
import { quarantineSchema } from '../../src/operate/quarantine-schema.ts';
import { statusSchema } from '../../src/operate/status-schema.ts';
import { pages } from '../support/readme.ts';

const schemas: Readonly<Record<string, z.ZodObject>> = {
  status: statusSchema,
  gaps: gapsSchema,
  backfills: backfillsSchema,
  imports: importsSchema,
  quarantine: quarantineSchema,
  exports: exportListSchema,
  alerts: alertListSchema,
  devices: deviceListSchema,
  sites: siteListSchema,
  meters: meterListSchema,
  tokens: tokenListSchema,
  audit: auditListSchema,
};
const page = pages.get('docs/http.md')!;
const rows = page
  .split('| answer | members |')[1]!
  .split('\n\n')[0]!
  .split('\n')
  .slice(2)
  .map((row) => row.split('|').map((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!)));

test.each(rows.map(([, answer, members]) => ({ answer: answer!, members: members! })))(
  '$answer has the members of the page',
  ({ answer: [name, list], members }) => {
    const schema = schemas[name!]!;
    const shown = list === undefined ? schema : elementOf(schema.shape[list]);
    expect(Object.keys(shown.shape)).toEqual(members);
  },
);

test('each answer with a schema is on the page', () => {
  expect([...new Set(rows.map(([, answer]) => answer![0]))].sort()).toEqual(Object.keys(schemas).sort());
});

test('the table of permissions has those of the code', () => {
  const table = page.split('| permission | allows |')[1]!.split('\n\n')[0]!;
  expect([...table.matchAll(/^\| `(\S+?)` \|/gm)].map(([, name]) => name)).toEqual([...permissions]);
});

function elementOf(member: unknown): z.ZodObject {
  if (!(member instanceof z.ZodArray) || !(member.element instanceof z.ZodObject))
    throw new Error('this member is no list of objects');
  return member.element;
}
