import type { Explained, ExplainedSource } from '../../src/explain/explained-schema.ts';

/**
 * Works a day's Wh out from its explanation alone, as a person would: the rounded ends of the segments, or
 * the parts of the power. Refuses what a person could not follow: ends that no reading, boundary or event
 * accounts for.
 */
export function handSum(source: ExplainedSource): number {
  return source.boundaries ? registerSum(source, source.boundaries) : powerSum(source);
}

function registerSum(
  source: ExplainedSource,
  { start, end }: NonNullable<ExplainedSource['boundaries']>,
): number {
  const index = new Map(
    source.readings
      .filter(({ fate }) => fate === 'used')
      .map(({ time, value, indexWh }) => [time, indexWh ?? value!]),
  );
  for (const boundary of [start, end]) {
    const { how, before, after, fraction, indexWh, roundedWh } = boundary;
    if (how === 'interpolated' || how === 'shaped') {
      const allMs = Date.parse(after!.time) - Date.parse(before!.time);
      const passedMs = Date.parse(boundary.time) - Date.parse(before!.time);
      const { beforeWh, allWh, beforeMilliseconds, allMilliseconds } = boundary.power ?? {
        beforeWh: 0,
        allWh: 1,
        beforeMilliseconds: 0,
        allMilliseconds: 0,
      };
      const grownWh = after!.indexWh - before!.indexWh;
      const even = (allMs - allMilliseconds) / allMs;
      // The energy of time without power: its even share, but at most the rest that power leaves.
      const rest = boundary.power ? Math.min(even, Math.max(0, 1 - allWh / grownWh)) : even;
      const unknown =
        allMilliseconds === allMs ? 0 : (passedMs - beforeMilliseconds) / (allMs - allMilliseconds);
      expectClose(unknown * rest + (beforeWh / allWh) * (1 - rest), fraction!, 'a fraction');
      const worked = before!.indexWh + (after!.indexWh - before!.indexWh) * fraction!;
      expectClose(worked, indexWh!, 'an interpolated boundary');
      for (const point of [before!, after!]) {
        if (!index.has(point.time) && Date.parse(point.time) % 900_000 !== 0)
          throw new Error(`no reading at ${point.time}, which is interpolated from`);
      }
    }
    if (indexWh !== null && roundHalfAway(indexWh) !== roundedWh)
      throw new Error('the index is rounded otherwise');
  }
  let sum = 0;
  for (const segment of source.segments) {
    const { from, to, fromWh, toWh } = segment;
    if (to === end.time && end.indexWh !== null) expectClose(toWh, end.indexWh, 'the end of the day');
    else expectClose(toWh, index.get(to) ?? Number.NaN, `the reading at ${to}`);
    if (from === start.time && start.indexWh !== null)
      expectClose(fromWh, start.indexWh, 'the start of the day');
    else if (fromWh !== 0 && fromWh !== index.get(from) && !source.events.some(({ from: at }) => at === from))
      throw new Error(`nothing says why the index is ${fromWh} at ${from}`);
    sum += roundHalfAway(toWh) - roundHalfAway(fromWh);
  }
  return sum;
}

function powerSum(source: ExplainedSource): number {
  let nanoWattHours = 0n;
  for (const { fromW, toW, milliseconds, covered, energyWh } of source.parts) {
    const worked = covered ? (((fromW + toW) / 2) * milliseconds) / 3_600_000 : 0;
    expectClose(worked, energyWh, 'a part of the power');
    nanoWattHours += BigInt(Math.round(energyWh * 1e9));
  }
  return roundHalfAway(Number(nanoWattHours) / 1e9);
}

/**
 * The same from the readings alone, less exactly because nothing is rounded on the way: each step between
 * neighbouring readings that count, with the energy that an event books instead of its growth, and its share
 * of the time inside the day.
 */
export function stepSum(explained: Explained, source: ExplainedSource): number {
  const isLifetime = source.result?.method === 'total_energy';
  const isTold =
    source.boundaries &&
    [source.boundaries.start, source.boundaries.end].every(
      ({ how }) => !['daily_register', 'shaped'].includes(how),
    );
  if (!isLifetime || !isTold) return source.result!.energyWh;
  const used = source.readings.filter(({ fate }) => fate === 'used');
  const { start: first, end: last } = source.boundaries!;
  let sum = 0;
  for (const [at, after] of used.entries()) {
    const before = used[at - 1];
    if (!before) continue;
    const event = source.events.find(
      ({ kind, to }) => to === after.time && !['jitter', 'glitch', 'spike'].includes(kind),
    );
    const grown = event
      ? event.energyWh
      : (after.indexWh ?? after.value!) - (before.indexWh ?? before.value!);
    const [from, to] = [Date.parse(before.time), Date.parse(after.time)];
    const [start, end] = [Date.parse(explained.start), Date.parse(explained.end)];
    // No energy is booked over a boundary whose index is unknown.
    if ((first.how === 'unknown' && from < start) || (last.how === 'unknown' && to > end)) continue;
    sum += (grown * Math.max(0, Math.min(to, end) - Math.max(from, start))) / (to - from);
  }
  return sum;
}

function roundHalfAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function expectClose(found: number, wanted: number, what: string): void {
  if (!(Math.abs(found - wanted) <= 1e-6 * Math.max(1, Math.abs(wanted))))
    throw new Error(`${what}: ${found} is not ${wanted}`);
}
