import { useContext } from 'preact/hooks';
import { worstRank } from '../words/flag-words.ts';
import { isDay, type LocalDay, today } from '../words/local-days.ts';
import { isZone } from '../words/zone-days.ts';
import type { DayDetails, DeviceStatuses, Profiles } from './answers.ts';
import { PageWorkContext } from './page-work.ts';
import { type ProfileColumns, profileColumns, profileOfBalance, rolesThemselves } from './profile-columns.ts';
import { namerOf, rolesOf } from './series.ts';
import { OTHERS } from './top-series.ts';
import { type Answered, RARE_MS, SLOW_MS, useAnswer } from './use-answer.ts';
import { useDayBalance, useDayProfile } from './use-day-profile.ts';

type Profile = Profiles[string];

/** The day that an address names. */
export interface ChosenDay {
  day: LocalDay;
  zone: string;
  /** Today in that zone. */
  current: LocalDay;
  /** The day to compare with. */
  other: LocalDay | undefined;
  /** Undefined for all devices. */
  device: string | undefined;
}

/** @param own the zone of the workgroup, which counts if the address names no other one */
export function chosenDay(query: Readonly<Record<string, string>>, own: string): ChosenDay {
  const zone = isZone(query.zone) ? query.zone : own;
  const current = today(zone);
  return {
    day: isDay(query.day) ? query.day : current,
    zone,
    current,
    other: isDay(query.with) ? query.with : undefined,
    device: query.device,
  };
}

export interface DayFacts {
  statuses: DeviceStatuses | undefined;
  /**
   * The profile of the day. It stays without an answer until it is known whether the picture shows roles or
   * sources.
   */
  profile: Answered<Profile | 'none'>;
  /** The profile in columns. @returns undefined if there is no source */
  columnsOf(profile: Profile | undefined): ProfileColumns | undefined;
  /** True if there is a day to compare with, and it has energy. */
  hasOther: boolean;
  /** Devices with a bad or doubtful flag on this day. */
  marked: readonly string[];
}

/**
 * The flags of more devices than this are not asked for, because the answer would be large. They are on the
 * page of quality.
 */
const DEVICES_MAX = 150;

/** Asks for everything that the page of a day shows. */
export function useDayFacts({ day, zone, current, other, device }: ChosenDay): DayFacts {
  const { workgroup, zone: own } = useContext(PageWorkContext);
  const profile = useDayProfile(day, zone, device);
  const otherProfile = useDayProfile(other, zone, device);
  const statuses = useAnswer<DeviceStatuses>('device-status', SLOW_MS);
  // A balance also has the roles that are computed, such as the consumption. It needs roles, and a token
  // without device groups.
  const balances = useDayBalance(workgroup.maySeeAll && day, zone, 'day', RARE_MS);
  const roles = rolesOf(balances.answer);
  const measured = new Set(roles.values());
  // A large answer adds up its smaller series as `OTHERS`, which has no role.
  const hasOthers =
    profile.answer !== undefined && profile.answer !== 'none' && OTHERS in profile.answer.energyWh;
  const isBalance = (measured.size > 1 || (measured.size === 1 && hasOthers)) && !device;
  const quarters = useDayBalance(isBalance && day, zone, 'interval');
  const otherQuarters = useDayBalance(isBalance && other, zone, 'interval');
  // The flags of today are not asked for, because they only say that the day is not over.
  const hasFlags = zone === own && day < current && Object.keys(statuses.answer ?? {}).length <= DEVICES_MAX;
  const details = useAnswer<DayDetails>(
    statuses.answer &&
      hasFlags &&
      `daily-energy/details?startDate=${day}&endDate=${day}${device ? `&devices=${device}` : ''}`,
    SLOW_MS,
  );
  const isDecided =
    (!workgroup.maySeeAll || balances.answer !== undefined || balances.failure !== undefined) &&
    (!isBalance || quarters.answer !== undefined || quarters.failure !== undefined);
  const otherShown = other && otherProfile.answer !== 'none' ? otherProfile.answer : undefined;
  // In the picture of a balance the series of the other day are roles too.
  const compared =
    otherShown && quarters.answer
      ? otherQuarters.answer && profileOfBalance(otherShown, otherQuarters.answer, measured)
      : otherShown;
  return {
    statuses: statuses.answer,
    profile: isDecided ? profile : { ...profile, answer: undefined, isLoading: true },
    hasOther: otherShown !== undefined,
    marked: Object.entries(details.answer?.[day] ?? {})
      .filter(([, { flags }]) => ['bad', 'doubtful'].includes(worstRank(flags) ?? ''))
      .map(([id]) => id),
    columnsOf: (found) =>
      profileColumns(quarters.answer ? profileOfBalance(found, quarters.answer, measured) : found, {
        nameOf: namerOf(
          Object.keys(found?.energyWh ?? {}).filter((key) => key !== OTHERS),
          statuses.answer,
        ),
        roles: quarters.answer ? rolesThemselves : roles,
        zone,
        nowMs: Date.now(),
        other: compared,
      }),
  };
}
