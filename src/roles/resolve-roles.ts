import { findDevice } from '../config/find-device.ts';
import { type WildcardPattern, wildcardPattern } from '../lib/wildcard-pattern.ts';
import { type RoleEntry, type SourceRole, WITHIN_SITE } from './role.ts';
import { anyDayOf, type DateSpan, includesDay, splitIntoSpans } from './role-dates.ts';

/** A source of a device. */
export interface SourceKey {
  /** UUID, lower case. */
  device: string;
  source: string;
}

/** The part of a workgroup's configuration that decides roles. */
export interface RoleSettings {
  roles?: readonly RoleEntry[] | undefined;
  devices: ReadonlyArray<{
    id: string;
    name?: string | undefined;
    totalSource?: string | undefined;
    sources?: readonly string[] | undefined;
  }>;
  totalSource?: string | undefined;
}

/** The role of a source during a span of local days. */
export interface RoleSpan extends SourceKey, DateSpan {
  role: SourceRole;
  negativeRole: SourceRole | undefined;
  within: SourceKey | typeof WITHIN_SITE | undefined;
}

/** The role from an entry, for one source during a span of days. */
export interface Resolved {
  role: SourceRole;
  negativeRole: SourceRole | undefined;
  within: SourceKey | typeof WITHIN_SITE | undefined;
  /** Its position in the configuration. */
  index: number;
}

/** Resolves roles of sources with the entries of a workgroup. */
export interface RoleResolver {
  /** The roles of a source by spans of days. Spans without a role are left out. */
  spansOf(key: SourceKey): Array<Resolved & DateSpan>;
  /**
   * All spans of these sources and of sources that entries name exactly. A total source contains the other
   * sources of its role.
   */
  spans(known: readonly SourceKey[]): RoleSpan[];
  /** Sources that the configuration names. */
  named: readonly SourceKey[];
}

interface Matcher extends DateSpan {
  device: string | undefined;
  source: WildcardPattern | undefined;
  exactSource: string | undefined;
  resolved: Resolved;
  /** 1 is an exact match, 4 the weakest. */
  level: number;
}

/**
 * Matches count in this order: an exact device and source, a device and a pattern, an exact source, a
 * pattern. The first of equal matches counts. An entry is valid on the local days from `from` to `to`.
 */
export function createRoleResolver(settings: RoleSettings): RoleResolver {
  const { roles = [], devices, totalSource } = settings;
  const matchers = roles.map((entry, index) => matcherOf(entry, index, devices));
  const totals = new Map(devices.flatMap(({ id, totalSource: own }) => (own ? [[id, own] as const] : [])));
  const named = namedSources(matchers, settings);

  function spansOf({ device, source }: SourceKey): Array<Resolved & DateSpan> {
    const matching = matchers.filter(
      (one) => (one.device ?? device) === device && (one.source?.test(source) ?? true),
    );
    if (matching.length === 0) return [];
    matching.sort((a, b) => a.level - b.level || a.resolved.index - b.resolved.index);
    return splitIntoSpans(matching).flatMap((stretch) => {
      const best = matching.find((one) => includesDay(one, anyDayOf(stretch)));
      return best ? [{ ...best.resolved, ...stretch }] : [];
    });
  }

  function spans(known: readonly SourceKey[]): RoleSpan[] {
    const keys = new Map([...known, ...named].map((key) => [keyText(key), key]));
    return [...keys.values()].flatMap((key) => {
      const own = spansOf(key);
      const total = totals.get(key.device) ?? totalSource;
      if (own.length === 0 || total === undefined || total === key.source) return own.map(spanOf(key));
      const parent = { device: key.device, source: total };
      if (!keys.has(keyText(parent))) return own.map(spanOf(key));
      return own.flatMap((span) => containedBy(span, parent, spansOf(parent))).map(spanOf(key));
    });
  }

  return { spansOf, spans, named };
}

const spanOf =
  (key: SourceKey) =>
  ({ role, negativeRole, within, from, to }: Resolved & DateSpan): RoleSpan => ({
    device: key.device,
    source: key.source,
    role,
    negativeRole,
    within,
    from,
    to,
  });

/** A total source contains the other sources of its device with its role, unless they have `within`. */
function containedBy(
  span: Resolved & DateSpan,
  parent: SourceKey,
  parents: ReadonlyArray<Resolved & DateSpan>,
): Array<Resolved & DateSpan> {
  if (span.within !== undefined || span.role === 'other') return [span];
  const like = parents.filter((one) => isLike(one, span));
  if (like.length === 0) return [span];
  return splitIntoSpans([span, ...like])
    .filter((stretch) => includesDay(span, anyDayOf(stretch)))
    .map((stretch) => ({
      ...span,
      ...stretch,
      within: like.some((one) => includesDay(one, anyDayOf(stretch))) ? parent : undefined,
    }));
}

/** The roles of an entry or a span. */
interface Roles {
  role: SourceRole;
  negativeRole?: SourceRole | undefined;
}

export function isLike(one: Roles, other: Roles): boolean {
  return one.role === other.role && one.negativeRole === other.negativeRole;
}

export function keyText({ device, source }: SourceKey): string {
  return `${device}.${source}`;
}

/**
 * Reads `<device>.<source>`, where the device is an id or a name. Names may contain dots, so the longest
 * known device is used.
 * @returns undefined if the text begins with no known device
 */
export function parseSourceKey(text: string, devices: RoleSettings['devices']): SourceKey | undefined {
  for (let dot = text.lastIndexOf('.'); dot > 0; dot = text.lastIndexOf('.', dot - 1)) {
    const device = findDevice({ devices }, text.slice(0, dot));
    if (device !== undefined && dot < text.length - 1) return { device, source: text.slice(dot + 1) };
  }
  return undefined;
}

/** True if registers that may fall have two roles, so that a device can count only one direction. */
export function hasSplits({ roles = [] }: Pick<RoleSettings, 'roles'>): boolean {
  return roles.some(({ negativeRole }) => negativeRole !== undefined);
}

export function isPattern(source: string): boolean {
  return /[*?]/.test(source);
}

function matcherOf(entry: RoleEntry, index: number, devices: RoleSettings['devices']): Matcher {
  const { source, role, negativeRole, within, from, to } = entry;
  const device =
    entry.device === undefined ? undefined : (findDevice({ devices }, entry.device) ?? entry.device);
  const isExact = source !== undefined && !isPattern(source);
  return {
    device,
    source: source === undefined ? undefined : wildcardPattern(source),
    exactSource: isExact ? source : undefined,
    level: device !== undefined ? (isExact ? 1 : 2) : isExact ? 3 : 4,
    from,
    to,
    resolved: {
      role,
      negativeRole,
      within: within === undefined || within === WITHIN_SITE ? within : parseSourceKey(within, devices),
      index,
    },
  };
}

/** Sources that the configuration names, with or without data. */
function namedSources(matchers: readonly Matcher[], { devices }: RoleSettings): SourceKey[] {
  const keys: SourceKey[] = [
    ...devices.flatMap(({ id, sources = [], totalSource }) =>
      [...sources, ...(totalSource === undefined ? [] : [totalSource])].map((source) => ({
        device: id,
        source,
      })),
    ),
    ...matchers.flatMap(({ device, exactSource, resolved: { within } }) => [
      ...(device !== undefined && exactSource !== undefined ? [{ device, source: exactSource }] : []),
      ...(typeof within === 'object' ? [within] : []),
    ]),
  ];
  return [...new Map(keys.map((key) => [keyText(key), key])).values()];
}
