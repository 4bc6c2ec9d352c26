/** A module beside another one (its `import.meta.url`), from source or as built. */
export function siblingModule(name: string, beside: string): URL {
  return new URL(`./${name}${beside.endsWith('.ts') ? '.ts' : '.js'}`, beside);
}
