import { describe, expect, it } from 'vitest';
import { addName, createNameCache, findName } from '../../src/decode/name-cache.ts';
import { createNameTable } from '../../src/decode/name-table.ts';

describe('a name table', () => {
  it('gives each name one id for ever, after the ids it knows', () => {
    const names = createNameTable([
      { id: 4, name: 'power' },
      { id: 2, name: 'solar' },
    ]);
    expect(names.idOf('power')).toBe(4);
    const fresh = names.idOf('energy');
    expect(fresh).toBe(5);
    expect(names.idOf('energy')).toBe(fresh);
    expect(names.nameOf(fresh)).toBe('energy');
    expect(names.nameOf(2)).toBe('solar');
    expect(() => names.nameOf(77)).toThrow(RangeError);
  });

  it('returns each new name once', () => {
    const names = createNameTable([{ id: 0, name: 'power' }]);
    names.idOf('power');
    names.idOf('a');
    names.idOf('__proto__');
    names.idOf('a');
    expect(names.takeNew()).toStrictEqual({
      names: [
        { id: 1, name: 'a' },
        { id: 2, name: '__proto__' },
      ],
      tables: [],
    });
    expect(names.takeNew()).toStrictEqual({ names: [], tables: [] });
  });
});

describe('a name cache', () => {
  const bytesOf = (name: string) => new Uint8Array(Buffer.from(name));

  it('finds each of many names by its bytes, and no other', () => {
    const cache = createNameCache();
    const names = Array.from({ length: 5_000 }, (_, index) => `field_${index * 7}`);
    let kept = 0;
    for (const [id, name] of names.entries()) {
      const bytes = bytesOf(name);
      expect(findName(cache, bytes, 0, bytes.length)).toBe(-1);
      if (addName(cache, bytes, 0, bytes.length, { id, name }) >= 0) kept++;
    }
    let found = 0;
    for (const [id, name] of names.entries()) {
      const bytes = bytesOf(`--${name}`);
      const slot = findName(cache, bytes, 2, bytes.length);
      if (slot < 0) continue;
      found++;
      expect(cache.ids[slot]).toBe(id);
      expect(cache.names[slot]).toBe(name);
    }
    expect(found).toBe(kept);
    expect(kept).toBeGreaterThan(4_900);
    const unknown = bytesOf('field_1');
    expect(findName(cache, unknown, 0, unknown.length)).toBe(-1);
  });

  it('stops adding names before they fill the memory', () => {
    const cache = createNameCache();
    let refused = 0;
    for (let id = 0; id < 40_000; id++) {
      const bytes = bytesOf(`n${id}`);
      if (addName(cache, bytes, 0, bytes.length, { id, name: `n${id}` }) < 0) refused++;
    }
    expect(refused).toBeGreaterThan(7_000);
    expect(cache.names.length).toBeLessThanOrEqual(32_768);
  });
});
