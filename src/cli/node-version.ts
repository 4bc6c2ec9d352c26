import packageFile from '../../package.json' with { type: 'json' };

/** @returns the problem with this version of Node, or undefined */
export function nodeProblem(version: string): string | undefined {
  const needed = packageFile.engines.node.replace('>=', '');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = needed.split('.').map(Number);
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;
  return `this is Node ${version}, and Node ${needed} or later is needed`;
}
