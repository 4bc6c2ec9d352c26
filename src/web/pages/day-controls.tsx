import { useContext } from 'preact/hooks';
import type { DeviceStatuses } from '../facts/answers.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { seriesName } from '../facts/series.ts';
import type { ChosenDay } from '../facts/use-day-facts.ts';
import { Select } from '../parts/choice.tsx';
import { shiftDay } from '../words/local-days.ts';
import { longDay, shortDay } from '../words/time-words.ts';
import { zoneChoices } from '../words/zone-days.ts';

const backNames: Readonly<Record<number, string>> = {
  1: 'the day before',
  7: 'a week before',
  28: 'four weeks before',
  364: 'a year before',
};
const daysBack = Object.keys(backNames).map(Number);

/** The choices of a device, of a day to compare with, and of a time zone. */
export function DayControls(props: {
  chosen: ChosenDay;
  statuses: DeviceStatuses | undefined;
  /** The address of this page with another choice. */
  linkTo(change: Readonly<Record<string, string | undefined>>): string;
}) {
  const { chosen, statuses, linkTo } = props;
  const { zone: own } = useContext(PageWorkContext);
  const { day, other, device, zone } = chosen;
  const go = (change: Readonly<Record<string, string | undefined>>) => {
    location.hash = linkTo(change);
  };
  return (
    <div class="controls">
      <Select
        label="Device"
        options={[
          { key: '', name: 'All devices' },
          ...Object.keys(statuses ?? {}).map((id) => ({ key: id, name: seriesName(id, statuses) })),
        ]}
        chosen={device ?? ''}
        onChoose={(key) => go({ device: key || undefined })}
      />
      <Select
        label="Compare with"
        options={[
          { key: '', name: 'no other day' },
          ...daysBack.map((back) => ({
            key: shiftDay(day, -back),
            name: `${backNames[back]}, ${shortDay(shiftDay(day, -back))}`,
          })),
          // A link can name a day that is not in the list, so it is added.
          ...(other && !daysBack.some((back) => shiftDay(day, -back) === other)
            ? [{ key: other, name: longDay(other) }]
            : []),
        ]}
        chosen={other ?? ''}
        onChoose={(key) => go({ with: key || undefined })}
      />
      <Select
        label="Time zone"
        options={zoneChoices(own, zone)}
        chosen={zone}
        onChoose={(key) => go({ zone: key === own ? undefined : key })}
      />
    </div>
  );
}
