import { expect, test } from 'vitest';
import { createLandingRoom } from '../../src/warehouse/landing-room.ts';
import { settle } from '../support/test-clock.ts';

test('two batches are in memory at most, and a place that is given back lets the next one in', async () => {
  const room = createLandingRoom();
  await room.wait();
  room.take();
  await room.wait();
  room.take();
  let isIn = false;
  const waited = room.wait().then(() => {
    isIn = true;
  });
  await settle();
  expect(isIn).toBe(false);
  room.giveBack(1);
  await waited;
});

test('no batch is decoded from the beginning of a transaction to its commit', async () => {
  const room = createLandingRoom();
  room.beginTransaction();
  let isIn = false;
  const waited = room.wait().then(() => {
    isIn = true;
  });
  await settle();
  expect(isIn).toBe(false);
  room.giveBack(0);
  await waited;
});
