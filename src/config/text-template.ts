/** A text with placeholders, such as `phase-{phase}`. */
export interface TextTemplate {
  /** The placeholders: `phase`, or `/em:0/id` for a member of a JSON payload. */
  names: readonly string[];
  /**
   * Fills the placeholders.
   * @param look the value of a placeholder; undefined if there is none
   * @returns undefined if a placeholder has no value
   */
  fill(look: (name: string) => string | undefined): string | undefined;
}

const PLACEHOLDER = /\{([^{}]+)\}/g;

/** Reads a template. @returns undefined for a text with a brace that is not part of a placeholder */
export function parseTextTemplate(text: string): TextTemplate | undefined {
  if (/[{}]/.test(text.replace(PLACEHOLDER, ''))) return undefined;
  const parts = text.split(PLACEHOLDER);
  const names = parts.filter((_, index) => index % 2 === 1);
  return {
    names,
    fill(look) {
      let filled = '';
      for (const [index, part] of parts.entries()) {
        const value = index % 2 === 0 ? part : look(part);
        if (value === undefined) return undefined;
        filled += value;
      }
      return filled;
    },
  };
}
