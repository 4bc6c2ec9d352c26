import { describe, expect, test } from 'vitest';
import { linkTo, parseAddress } from '../../src/web/app/address.ts';
import { readToken } from '../../src/web/app/session.ts';

function tokenOf(claims: object): string {
  return ['{}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
}

const scopes = {
  roof: { permissions: ['search:read'], deviceGroups: ['flat-3'] },
  home: { permissions: ['search:read', 'data:correct'] },
  gateway: { permissions: ['data:write'] },
};

describe('a token', () => {
  test('names the workgroups that it may read', () => {
    const read = readToken(`  Bearer ${tokenOf({ sub: 'Zoë', scopes })}\n`);
    expect(read).toMatchObject({
      session: {
        subject: 'Zoë',
        workgroups: [
          { id: 'home', maySeeAll: true, mayCorrect: true },
          { id: 'roof', maySeeAll: false, mayCorrect: false },
        ],
      },
    });
  });
  test.each([
    ['', 'Paste a token'],
    ['a.b', 'not a token'],
    ['a.!.c', 'not a token'],
    [tokenOf({ scopes, exp: 1 }), 'has expired'],
    [tokenOf({ scopes: { gateway: scopes.gateway } }), 'search:read'],
    [tokenOf({}), 'search:read'],
  ])('%s is refused in words', (text, reason) => {
    expect(readToken(text)).toMatchObject({ kind: 'refused', reason: expect.stringContaining(reason) });
  });
});

describe('an address', () => {
  test('is read as it was written', () => {
    const link = linkTo('a/b', 'energy', { from: '2026-11-01', device: undefined });
    expect(link).toBe('#/a%2Fb/energy?from=2026-11-01');
    expect(parseAddress(link)).toEqual({ workgroup: 'a/b', page: 'energy', query: { from: '2026-11-01' } });
  });
  test.each(['', '#', '#/', '#/home/nowhere', '#/%zz/energy'])('%j leads somewhere', (hash) => {
    expect(['overview', 'energy']).toContain(parseAddress(hash).page);
  });
});
