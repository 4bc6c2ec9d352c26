import { expect, test } from 'vitest';
import { SignIn } from '../../src/web/app/sign-in.tsx';
import { renderPart } from './support/render-part.ts';

const drawn = (reason: string | undefined) => renderPart(SignIn, { reason, onSession: () => undefined });

test('it asks for a token, and says how long it stays and how to make one', () => {
  const part = drawn(undefined);
  expect(part.lines).toEqual([
    'Wattline',
    'Sign in',
    'API token',
    '[textarea: ]',
    'It stays in this tab and is deleted when the tab is closed. Make one with wattline token create.',
    '[Sign in]',
    'For programs: the API and its description {docs}.',
  ]);
  expect(part.elements('textarea')[0]).toMatchObject({ 'aria-describedby': 'token-help' });
});

test('who was signed out reads why, also with a screen reader', () => {
  const part = drawn('This token has expired.');
  expect(part.lines.slice(0, 4)).toEqual(['Wattline', 'Sign in', 'This token has expired.', 'API token']);
  expect(part.elements('textarea')[0]).toMatchObject({ 'aria-describedby': 'problem token-help' });
  expect(part.elements('p')[0]).toEqual({ class: 'notice', role: 'alert', id: 'problem' });
});
