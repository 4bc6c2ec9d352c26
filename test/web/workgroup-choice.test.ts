import { expect, test } from 'vitest';
import { WorkgroupChoice } from '../../src/web/app/workgroup-choice.tsx';
import { renderPart } from './support/render-part.ts';

const drawn = (...ids: string[]) =>
  renderPart(WorkgroupChoice, {
    session: {
      token: 'token',
      subject: 'ada',
      workgroups: ids.map((id) => ({
        id,
        maySeeAll: true,
        mayCorrect: true,
        mayOperate: true,
        mayAudit: true,
      })),
    },
    chosen: 'home',
    page: 'overview',
  });

test('the only workgroup is a name', () => {
  expect(drawn('home').lines).toEqual(['home']);
  expect(drawn('home').elements('select')).toEqual([]);
});

test('of several workgroups the current one is chosen', () => {
  expect(drawn('farm', 'home', 'work').lines).toEqual(['Workgroup', 'farm *home work']);
});
