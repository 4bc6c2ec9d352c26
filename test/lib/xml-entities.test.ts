import { expect, test } from 'vitest';
import { decodeEntities } from '../../src/lib/xml-entities.ts';

test.each([
  ['a &lt;b&gt; &amp;amp; &quot;c&quot; &apos;', `a <b> &amp; "c" '`],
  ['&#228;&#xE4;&#x1F50B;', 'ää🔋'],
  ['&nbsp; &#x110000; &#9999999; &; & &constructor;', '&nbsp; &#x110000; &#9999999; &; & &constructor;'],
])('%s', (text, decoded) => {
  expect(decodeEntities(text)).toBe(decoded);
});
