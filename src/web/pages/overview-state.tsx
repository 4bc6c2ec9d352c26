import { useContext } from 'preact/hooks';
import { linkTo } from '../app/address.ts';
import type { DeviceStatuses } from '../facts/answers.ts';
import type { Attention } from '../facts/attention.ts';
import { deviceKind } from '../facts/device-kind.ts';
import { countKinds } from '../facts/device-rows.ts';
import { PageWorkContext } from '../facts/page-work.ts';
import { Empty } from '../parts/states.tsx';
import { countText, plural } from '../words/number-words.ts';
import { clockTime } from '../words/time-words.ts';

const ATTENTION_MAX = 6;

/** One state, with its reason. */
export function OverviewState(props: {
  attention: Attention[];
  statuses: DeviceStatuses;
  completeMs: number | undefined;
  zone: string;
}) {
  const { attention, statuses, completeMs, zone } = props;
  const worst = attention.find(({ rank }) => rank !== 'noted');
  const count = attention.filter(({ rank }) => rank !== 'noted').length;
  const kinds = Object.values(statuses).map((status) => ({ kind: deviceKind(status) }));
  const { all, unknown, heard, online, asleep } = countKinds(kinds);
  // Devices that never sent anything are listed on their page.
  const known = all - unknown;
  // If no device was ever announced as online, the page can only say which ones send data.
  const [heardOf, heardAs] = online === 0 && heard > 0 ? [heard, 'sending data'] : [online, 'online'];
  const state = worst?.rank ?? 'good';
  return (
    <section class={`state state-${state} area-state`} aria-label="State">
      <StateSign state={state} />
      <div>
        <h2 class="state-name">
          {state === 'good'
            ? 'All is well.'
            : `${plural(count, 'thing')} ${count === 1 ? 'needs' : 'need'} attention.`}
        </h2>
        {worst && <p>{worst.text}</p>}
        <p class="muted">
          {known > 0 &&
            `${countText(heardOf)} of ${plural(known, 'device')} ${heardOf === 1 || known === 1 ? 'is' : 'are'} ${heardAs}${asleep > 0 ? `, ${countText(asleep)} asleep` : ''}. `}
          {completeMs === undefined
            ? 'Nothing of today is known yet.'
            : `Energy of today is complete up to ${clockTime(completeMs, zone)} (${zone}).`}
        </p>
      </div>
    </section>
  );
}

export function StateSign({ state }: { state: 'good' | 'bad' | 'doubtful' | 'noted' }) {
  return (
    <svg width="28" height="28" viewBox="0 0 28 28" aria-hidden="true" class="state-sign">
      {state === 'good' ? (
        <>
          <circle cx="14" cy="14" r="12" />
          <path d="M8.5 14.5l3.8 3.8 7.2-8" />
        </>
      ) : (
        <>
          <path class="ground" d="M14 3L26.5 25H1.5Z" />
          <path d="M14 11v7M14 21.4v.2" />
        </>
      )}
    </svg>
  );
}

/** What needs attention, worst first. */
export function AttentionList({ attention }: { attention: Attention[] }) {
  const { workgroup } = useContext(PageWorkContext);
  if (attention.length === 0)
    return (
      <Empty title="Nothing">
        No day of the last week, no device and no part of the pipeline needs a look.
      </Empty>
    );
  return (
    <>
      <ul class="attention">
        {attention.slice(0, ATTENTION_MAX).map(({ key, rank, text, href, leads }) => (
          <li key={key} class={`rank-${rank}`}>
            <span class="attention-text">
              <span class="visually-hidden">{rankWords[rank]}: </span>
              {text}
            </span>
            <a href={href}>
              {leads}
              <span class="visually-hidden">: {text}</span>
            </a>
          </li>
        ))}
      </ul>
      {attention.length > ATTENTION_MAX && (
        <p class="muted">
          And {attention.length - ATTENTION_MAX} more, see{' '}
          <a href={linkTo(workgroup.id, 'quality')}>Quality</a> and{' '}
          <a href={linkTo(workgroup.id, 'pipeline')}>Pipeline</a>.
        </p>
      )}
    </>
  );
}

const rankWords = { bad: 'Serious', doubtful: 'Doubtful', noted: 'For information' } as const;
