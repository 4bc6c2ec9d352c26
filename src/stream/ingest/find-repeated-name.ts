const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * Finds the first name that an object of the text has twice. `JSON.parse` keeps the last of them and says
 * nothing. Names that differ only in escapes are the same.
 * @param text well-formed JSON
 * @returns the name and the position of its repetition; undefined if there is none
 */
export function findRepeatedName(text: string): { name: string; position: number } | undefined {
  /** The names of each open object; undefined for an array. */
  const open: Array<Set<string> | undefined> = [];
  let isName = false;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token[0] === '"') {
      const names = open.at(-1);
      if (!isName || names === undefined) continue;
      const name: string = JSON.parse(token);
      if (names.has(name)) return { name, position: index };
      names.add(name);
    } else if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    isName = token === '{' || token === ',';
  }
  return undefined;
}
