import { listOf, plainNumber } from './explain-words.ts';
import type { ExplainedDevice } from './explained-schema.ts';

/** The declaration and the energy of a source of a device on a day. */
export interface SourceFacts {
  source: string;
  role: string | null;
  negativeRole: string | null;
  /**
   * True if it counts for the device. `part` is all of it, or only the intervals in which it rose or fell.
   */
  counts: boolean;
  part: 'whole' | 'rise' | 'fall';
  /** True if `sources` of the device names it, or names none. */
  isListed: boolean;
  /** The source of the device that contains it. */
  container: string | null;
  /** True if it has no declared role although it needs one. */
  lacksRole: boolean;
  hasEnergy: boolean;
  /** Energy of the part that counts (Wh); null if there is none. */
  energyWh: number | null;
}

interface DeviceFacts {
  totalSource: string | null;
  energyRole: string | null;
  energyWh: number | null;
  flags: readonly string[];
}

type Rule = ExplainedDevice['rule'];

/**
 * Describes how the energy of a device follows from its sources: the rule, which sources count, why the
 * others do not, and the reasons of its flags (see docs/balance.md).
 */
export function describeDevice(sources: readonly SourceFacts[], facts: DeviceFacts): ExplainedDevice {
  const rule = ruleOf(sources, facts);
  const role = roleOf(sources, rule, facts);
  return {
    rule,
    role,
    energyWh: facts.energyWh,
    text: ruleText(rule, role, sources, facts),
    sources: sources.map((source) => ({
      source: source.source,
      role: source.role,
      negativeRole: source.negativeRole,
      counts: source.counts,
      part: source.part,
      energyWh: source.energyWh,
      reason: reasonOf(source, sources, rule, role, facts),
    })),
    flags: (['mixed', 'undeclared', 'incomplete'] as const)
      .filter((flag) => facts.flags.includes(flag))
      .map((flag) => ({ flag, reason: flagReason(flag, sources) })),
  };
}

function ruleOf(sources: readonly SourceFacts[], { totalSource, energyRole }: DeviceFacts): Rule {
  if (sources.some(({ source }) => source === totalSource)) return 'total_source';
  if (energyRole !== null) return 'energy_role';
  if (!sources.some(({ counts, role }) => counts && role !== null)) return 'no_role';
  return rolesOf(sources).length > 1 ? 'several_roles' : 'one_role';
}

/** The roles of the sources, each once. */
function rolesOf(sources: readonly SourceFacts[]): string[] {
  const roles = sources
    .filter(({ isListed, role }) => isListed && role !== null)
    .flatMap(({ role, negativeRole }) => [role, negativeRole])
    .filter((role) => role !== null && role !== 'other');
  return [...new Set(roles as string[])];
}

function roleOf(sources: readonly SourceFacts[], rule: Rule, { energyRole }: DeviceFacts): string | null {
  if (rule === 'total_source' || rule === 'no_role') return null;
  const counted = sources.find(({ counts }) => counts);
  return energyRole ?? (counted?.part === 'fall' ? counted.negativeRole : (counted?.role ?? null));
}

function ruleText(
  rule: Rule,
  role: string | null,
  sources: readonly SourceFacts[],
  { totalSource }: DeviceFacts,
): string {
  switch (rule) {
    case 'total_source':
      return `the device is its total source ${totalSource} alone`;
    case 'energy_role':
      return `the device is the sum of its sources with the role ${role}, which is its energyRole`;
    case 'one_role':
      return `the device is the sum of its sources with the role ${role}`;
    case 'several_roles': {
      const others = rolesOf(sources).filter((one) => one !== role);
      return `the device has several roles and is read from ${role}, the first of them; ${listOf(others)} ${others.length === 1 ? 'is' : 'are'} not added`;
    }
    case 'no_role':
      return sources.length === 1
        ? 'the device is its only source'
        : 'no source of the device has a role, so all of them are added';
    default:
      return rule satisfies never;
  }
}

function reasonOf(
  source: SourceFacts,
  sources: readonly SourceFacts[],
  rule: Rule,
  role: string | null,
  { totalSource }: DeviceFacts,
): string {
  if (!source.counts) return whyNot(source, sources, rule, role, totalSource);
  const silent = source.hasEnergy ? '' : '; it has no energy on this day';
  if (rule === 'total_source') return `the total source${silent}`;
  if (source.role === null) return `no role is declared${silent}`;
  if (source.part === 'whole') return `has the role ${role}${silent}`;
  const open = source.hasEnergy && source.energyWh === null;
  return `counts as ${role} where it ${source.part === 'rise' ? 'rises' : 'falls'}${silent}${open ? '; its readings are too far apart to separate that part' : ''}`;
}

function whyNot(
  source: SourceFacts,
  sources: readonly SourceFacts[],
  rule: Rule,
  role: string | null,
  totalSource: string | null,
): string {
  if (rule === 'total_source') return `the total source ${totalSource} stands for the device`;
  if (!source.isListed) return 'the setting sources of the device does not name it';
  if (source.role === null) return 'no role is declared for it on this day';
  const container = sources.find((other) => other.source === source.container);
  if (container?.isListed && container.role !== null) return `${source.container} measures it too`;
  return `its role is ${[source.role, ...(source.negativeRole === null ? [] : [source.negativeRole])].join(' or ')}, not ${role}`;
}

function flagReason(flag: string, sources: readonly SourceFacts[]): string {
  if (flag === 'mixed') return `its sources have the roles ${listOf(rolesOf(sources))}`;
  const isUndeclared = flag === 'undeclared';
  const named = sources.filter((one) => (isUndeclared ? one.lacksRole : one.counts && one.energyWh === null));
  const names = listOf(named.map(({ source }) => source));
  if (isUndeclared) return `no role is declared for ${names} on this day`;
  return named.length === 0
    ? 'a declared source of the device has no energy on this day'
    : `${names} has no energy on this day`;
}

/** The energy of the device as a sum; undefined if nothing is added. */
export function sumText({ sources, energyWh }: ExplainedDevice): string | undefined {
  const terms = sources.filter(({ counts, energyWh: own }) => counts && own !== null);
  if (energyWh === null || terms.length < 2) return undefined;
  const text = terms.map(({ source, energyWh: own }) => `${plainNumber(own!)} (${source})`);
  return `${text.join(' + ')} = ${plainNumber(energyWh)} Wh`;
}
