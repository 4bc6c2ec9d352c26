const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/**
 * Finds the first name that stands twice in one object, whichever way it is spelled.
 * @param text JSON, known to be well-formed
 * @returns the name and the character at which it comes again; undefined where there is none
 */
export function findRepeatedName(text: string): { name: string; position: number } | undefined {
  /** The names of each object that is open; an array has none. */
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
