// Prints the SBOM of a release (CycloneDX, JSON). npm writes it for all packages, and this leaves out those for development: `npm sbom --omit dev`
// also leaves out packages of the release that a package for development can use (yaml).
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { readJson, releasePackages, root } from './release-packages.mjs';

const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
const { status, stdout, stderr } = spawnSync('npm', args, {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 ** 2,
});
if (status !== 0) {
  process.stderr.write(stderr);
  process.exit(1);
}
const sbom = JSON.parse(stdout);
const { name, version } = readJson(join(root, 'package.json'));
const kept = new Set(releasePackages().map((one) => `${one.name}@${one.version}`));
const own = sbom.metadata.component['bom-ref'];
const isKept = (reference) => reference === own || kept.has(reference);
const written = {
  ...sbom,
  // npm writes the name of the folder.
  metadata: { ...sbom.metadata, component: { ...sbom.metadata.component, name, version } },
  components: sbom.components.filter((component) => kept.has(component['bom-ref'])),
  dependencies: sbom.dependencies
    .filter(({ ref }) => isKept(ref))
    .map((one) => ({ ...one, dependsOn: one.dependsOn.filter(isKept) })),
};
process.stdout.write(`${JSON.stringify(written, undefined, 2)}\n`);
