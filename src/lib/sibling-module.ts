/** The URL of a module next to another one (its `import.meta.url`), from source or built. */
export function siblingModule(name: string, beside: string): URL {
  return new URL(`./${name}${beside.endsWith('.ts') ? '.ts' : '.js'}`, beside);
}
