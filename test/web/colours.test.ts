import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const styles = join(import.meta.dirname, '../../src/web/style');
const text = readFileSync(join(styles, 'colours.css'), 'utf8');
type Colours = Record<string, string>;
const light = colours(2);
const dark = colours(3);

function colours(place: 2 | 3): Colours {
  const found = [...text.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)];
  return Object.fromEntries(found.map((match) => [match[1]!, match[place]!]));
}

test('the page of the design names every colour', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/design.md'), 'utf8');
  const named = (name: string) =>
    page.includes(`\`${name}\``) || /^tone-[2-7]$|^(?:noted|doubtful|bad)-soft$/.test(name);
  expect(Object.keys(light).filter((name) => !named(name))).toEqual([]);
});

/** Contrast of two colours by WCAG 2.2, 1 to 21. */
function contrast(a: string, b: string): number {
  const [bright, other] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (bright + 0.05) / (other + 0.05);
}

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [
    number,
    number,
    number,
  ];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

describe.each([
  ['light', light],
  ['dark', dark],
])('the %s theme', (_, theme) => {
  const grounds = ['ground', 'card', 'sunken'];
  const texts = ['ink', 'ink-soft', 'ink-faint', 'accent'];
  test.each(texts.flatMap((name) => grounds.map((ground) => [name, ground])))(
    '%s can be read on %s',
    (name, ground) => {
      expect(contrast(theme[name!]!, theme[ground!]!)).toBeGreaterThanOrEqual(4.5);
    },
  );
  test.each([
    ['on-accent', 'accent'],
    ['bad', 'bad-soft'],
    ['doubtful', 'doubtful-soft'],
    ['noted', 'noted-soft'],
    ['good', 'good-soft'],
    ['ink', 'bad-soft'],
    ['ink-soft', 'bad-soft'],
    ['ink-soft', 'doubtful-soft'],
    ['ink-soft', 'good-soft'],
    ['accent', 'accent-soft'],
  ])('%s can be read on %s', (name, ground) => {
    expect(contrast(theme[name]!, theme[ground]!)).toBeGreaterThanOrEqual(4.5);
  });
  const signs = Object.keys(theme).filter((name) =>
    /^(?:tone-\d|production|consumption|grid_|battery_|line-strong|good$|noted$|doubtful$|bad$)/.test(name),
  );
  test.each(signs)('the sign or bar %s can be seen on a card', (name) => {
    expect(contrast(theme[name]!, theme.card!)).toBeGreaterThanOrEqual(3);
  });
});

test.each(['light', 'dark'] as const)('the signs of cells can be seen on them, in the %s theme', (name) => {
  const theme = { light, dark }[name];
  for (const [sign, cell] of [
    ['cell-sign', 'cell-noted'],
    ['cell-sign-doubtful', 'cell-doubtful'],
    ['cell-sign-bad', 'cell-bad'],
  ] as const)
    expect(contrast(theme[sign]!, theme[cell]!)).toBeGreaterThanOrEqual(3);
});

test('all colours are in colours.css', () => {
  const others = readdirSync(styles).filter((file) => file.endsWith('.css') && file !== 'colours.css');
  const found = others.flatMap((file) =>
    [...readFileSync(join(styles, file), 'utf8').matchAll(/#[0-9a-f]{3,8}\b|\brgba?\(/g)].map(
      ([colour]) => `${file} ${colour}`,
    ),
  );
  expect(found).toEqual([]);
});

test('both themes have the same names', () => {
  expect(Object.keys(dark).sort()).toEqual(Object.keys(light).sort());
  expect(Object.keys(light).length).toBeGreaterThan(40);
});
