import { expect, test } from 'vitest';
import { SearchField } from '../../src/web/parts/search-field.tsx';
import { renderPart } from './support/render-part.ts';

test('the field has its name and the text of the address', () => {
  const props = { label: 'Find a device', text: 'roof', onText: () => undefined };
  expect(renderPart(SearchField, props).lines).toEqual(['Find a device[search: roof]']);
});
