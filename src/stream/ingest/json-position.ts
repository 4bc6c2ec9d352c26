/**
 * Where JSON text stops being JSON (RFC 8259), in characters from its start: what `JSON.parse` does not reliably say.
 * @returns the text's length where it breaks off, and for text that is JSON
 */
export function jsonErrorPosition(text: string): number {
  /** What is open: `true` for an object. */
  const open: boolean[] = [];
  let expecting: 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'comma-or-end' = 'value';
  let at = skipSpace(text, 0);
  for (; at < text.length; at = skipSpace(text, at)) {
    const character = text[at]!;
    if (expecting === 'comma-or-end') {
      const inObject = open.at(-1);
      if (inObject === undefined) return at;
      if (character === ',') expecting = inObject ? 'key' : 'value';
      else if (character === (inObject ? '}' : ']')) open.pop();
      else return at;
      at++;
      continue;
    }
    if (expecting === 'key' || expecting === 'key-or-end') {
      if (character === '}' && expecting === 'key-or-end') {
        open.pop();
        expecting = 'comma-or-end';
        at++;
        continue;
      }
      if (character !== '"') return at;
      const end = stringEnd(text, at);
      if (end.bad !== undefined) return end.bad;
      at = skipSpace(text, end.at);
      if (at < text.length && text[at] !== ':') return at;
      expecting = 'value';
      at++;
      continue;
    }
    if (character === ']' && expecting === 'value-or-end') {
      open.pop();
      expecting = 'comma-or-end';
      at++;
    } else if (character === '[' || character === '{') {
      open.push(character === '{');
      expecting = character === '{' ? 'key-or-end' : 'value-or-end';
      at++;
    } else {
      const end = character === '"' ? stringEnd(text, at) : scalarEnd(text, at);
      if (end.bad !== undefined) return end.bad;
      at = end.at;
      expecting = 'comma-or-end';
    }
  }
  return text.length;
}

type End = { at: number; bad?: undefined } | { bad: number };

function skipSpace(text: string, at: number): number {
  while (at < text.length && ' \t\n\r'.includes(text[at]!)) at++;
  return at;
}

function stringEnd(text: string, start: number): End {
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at]!;
    if (character === '"') return { at: at + 1 };
    if (character < ' ') return { bad: at };
    if (character !== '\\') continue;
    at++;
    if (text[at] === 'u') {
      for (let digit = 0; digit < 4; digit++) {
        at++;
        if (at < text.length && !/[0-9a-fA-F]/.test(text[at]!)) return { bad: at };
      }
    } else if (at < text.length && !'"\\/bfnrt'.includes(text[at]!)) return { bad: at };
  }
  return { bad: text.length };
}

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function scalarEnd(text: string, start: number): End {
  SCALAR.lastIndex = start;
  const match = SCALAR.exec(text);
  return match === null ? { bad: start } : { at: start + match[0].length };
}
