import { expect, test } from 'vitest';
import { authorize } from '../../src/access/authorize.ts';
import type { Grant, WorkgroupScope } from '../../src/access/grant.ts';
import { deviceId } from '../support/messages.ts';

const groups = { roof: [deviceId(1), deviceId(2)], yard: [deviceId(2), deviceId(3)], empty: [] };

function grant(scope: WorkgroupScope): Grant {
  return { tokenId: 't', subject: 's', scopes: { acme: scope }, expiresAtMs: 0 };
}

test('without device groups a token reads all devices', () => {
  const { devices } = authorize(grant({ permissions: ['search:read'] }), 'acme', ['search:read'], groups);
  expect(devices).toBe('all');
});

test('the devices of all groups are visible, and an unknown group has none', () => {
  const seen = (deviceGroups: string[]) =>
    authorize(grant({ permissions: ['search:read'], deviceGroups }), 'acme', ['search:read'], groups).devices;
  expect(seen(['roof', 'yard'])).toEqual(new Set([deviceId(1), deviceId(2), deviceId(3)]));
  expect(seen(['yard', 'gone'])).toEqual(new Set([deviceId(2), deviceId(3)]));
  for (const nothing of [['gone'], ['empty'], [], ['__proto__'], ['constructor']])
    expect(seen(nothing)).toEqual(new Set());
});

test('changed groups apply to grants that were used before', () => {
  const known = grant({ permissions: ['search:read'], deviceGroups: ['roof'] });
  authorize(known, 'acme', ['search:read'], groups);
  const { devices } = authorize(known, 'acme', ['search:read'], { roof: [deviceId(9)] });
  expect(devices).toEqual(new Set([deviceId(9)]));
});

test('all required permissions are needed, and the error names them', () => {
  const reader = grant({ permissions: ['search:read'] });
  expect(() => authorize(reader, 'acme', ['search:read', 'org:audit'], groups)).toThrow(
    expect.objectContaining({
      code: 'InsufficientScope',
      details: { required: ['search:read', 'org:audit'] },
    }),
  );
});

test('a workgroup that the token does not name is forbidden, also with a name like toString', () => {
  for (const workgroup of ['other', '', '__proto__', 'constructor', 'toString'])
    expect(() =>
      authorize(grant({ permissions: ['search:read'] }), workgroup, ['search:read'], groups),
    ).toThrow(
      expect.objectContaining({ code: 'WorkgroupForbidden', details: { required: ['search:read'] } }),
    );
});
