import { expect, test } from 'vitest';
import { DaySpark, Spark } from '../../src/web/pictures/spark.tsx';
import { renderPart } from './support/render-part.ts';

const rects = (drawn: ReturnType<typeof renderPart>) =>
  drawn.elements('rect').map(({ class: name, x, y, height }) => `${name}: ${x} ${y} ${height}`);

test('the largest value has the whole height, values below zero count by their size, and a gap stays empty', () => {
  const drawn = renderPart(Spark, { values: [10, null, -20, 0], tone: 'production' });
  expect(rects(drawn)).toEqual([
    'bar tone-production: 0.1 16 15',
    'bar tone-production: 2.1 1 30',
    'bar tone-production: 3.1 31 0',
  ]);
  expect(drawn.elements('svg')[0]).toMatchObject({ viewbox: '0 0 4 32', 'aria-hidden': 'true' });
});

test('a day without data is a pale column, and one on which nothing is expected is none', () => {
  const drawn = renderPart(DaySpark, { values: [undefined, null, 5, 10, 0] });
  expect(rects(drawn)).toEqual([
    'spark-missing: 1.1 0 31',
    'bar tone-1: 2.1 15.5 15.5',
    'bar tone-1: 3.1 0 31',
    // Zero is a thin line, because it is not the same as no data.
    'bar tone-1: 4.1 30 1',
  ]);
});

test('without values only the axis is drawn', () => {
  for (const drawn of [renderPart(Spark, { values: [], tone: '1' }), renderPart(DaySpark, { values: [] })]) {
    expect(drawn.elements('rect')).toEqual([]);
    expect(drawn.elements('line')).toMatchObject([{ x1: '0', x2: '1' }]);
  }
});
