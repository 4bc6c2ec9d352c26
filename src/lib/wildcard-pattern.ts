/** The expression of a text in which `*` is any text and `?` any character. */
export function wildcardPattern(text: string): RegExp {
  const expression = text
    .split(/([*?])/)
    .map((part) => (part === '*' ? '.*' : part === '?' ? '.' : escapeExpression(part)));
  return new RegExp(`^${expression.join('')}$`, 's');
}

/** A text as an expression that is exactly this text. */
export function escapeExpression(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
