import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { followStreams } from '../../src/service/follow-streams.ts';

test('messages that nobody reads are no news: of a workgroup with an upstream, and of a removed one', () => {
  const told: string[] = [];
  const upstream = { url: 'https://example.com', workgroup: 'acme' };
  const config = configSchema.parse({ workgroups: [{ id: 'home' }, { id: 'copy', upstream }] });
  followStreams(
    { noteNews: (workgroupId) => void told.push(workgroupId) },
    {
      workgroups: createWorkgroups(config),
      news: {
        onAppended: (listener) => {
          for (const workgroupId of ['removed', 'copy', 'home']) listener(workgroupId);
        },
      },
    },
  );
  expect(told).toEqual(['home']);
});
