import { expect, test } from 'vitest';
import { alertsSchema } from '../../src/config/alert-settings.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { inWords } from '../../src/lib/input-words.ts';

test.each([
  [
    { limit: '1s' },
    'conditions.deviceSilent.limit',
    'must be from 2m to 30d; a number alone is milliseconds',
  ],
  [{ limits: '3h' }, 'conditions.deviceSilent.limits', 'is not a known setting; is it limit?'],
  ['3h', 'conditions.deviceSilent', 'must be "off" or { limit: ..., for: 10m }'],
])('a condition with %j is refused with what is wrong with it', (deviceSilent, path, message) => {
  const parsed = alertsSchema.safeParse({ conditions: { deviceSilent } }, inWords);
  const problems = zodProblems(parsed.error!);
  expect(problems).toEqual([{ path, message: expect.stringContaining(message) }]);
});
