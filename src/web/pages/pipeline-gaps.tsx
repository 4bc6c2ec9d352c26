import type { Gaps } from '../facts/answers.ts';
import { SLOW_MS, useAnswer } from '../facts/use-answer.ts';
import { DataTable } from '../parts/data-table.tsx';
import { ExactDuration } from '../parts/exact-number.tsx';
import { StateWord } from '../parts/state-word.tsx';
import { Empty, Shown } from '../parts/states.tsx';
import { DayTime } from '../parts/time-text.tsx';
import { GapLine } from '../pictures/gap-line.tsx';
import { identifierWords } from '../words/identifier-words.ts';
import { countText, plural } from '../words/number-words.ts';

type Gap = Gaps['gaps'][number];

const fills = {
  all: { kind: 'noted', words: 'can be filled' },
  part: { kind: 'doubtful', words: 'can be filled in part' },
  nothing: { kind: 'bad', words: 'cannot be filled any more' },
  unknown: { kind: 'calm', words: 'not known if it can be filled' },
} as const;

/** Times of the stream that could not be read, and whether they can still be filled. */
export function PipelineGaps() {
  const gaps = useAnswer<Gaps>('gaps', SLOW_MS);
  return (
    <section class="card" aria-labelledby="gaps">
      <h2 id="gaps">Gaps of the stream</h2>
      <Shown of={gaps} what="the gaps" height={100}>
        {({ gaps, total }) =>
          gaps.length === 0 ? (
            <Empty title="No gap">Everything that the stream had was read.</Empty>
          ) : (
            <>
              <p class="sentence">{gapsSentence(gaps, total)}</p>
              <GapLine gaps={gaps} />
              <DataTable
                caption="Gaps, newest first"
                rows={gaps}
                keyOf={({ id }) => String(id)}
                columns={[
                  { title: 'Gap', cell: ({ id }) => id },
                  { title: 'From', cell: ({ from }) => <DayTime at={from} /> },
                  { title: 'To', cell: ({ to }) => <DayTime at={to} /> },
                  {
                    title: 'Length',
                    isNumber: true,
                    cell: ({ from, to }) =>
                      from && to ? <ExactDuration ms={Date.parse(to) - Date.parse(from)} /> : '–',
                  },
                  {
                    title: 'Can it be filled?',
                    cell: ({ available }) => (
                      <StateWord kind={fills[available].kind}>{fills[available].words}</StateWord>
                    ),
                  },
                  {
                    title: 'Why',
                    cell: ({ reason, note }) => [identifierWords(reason), note].filter(Boolean).join(': '),
                  },
                ]}
              />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function gapsSentence(gaps: readonly Gap[], total: number): string {
  const fillable = gaps.filter(({ available }) => available === 'all' || available === 'part').length;
  const lost = gaps.filter(({ available }) => available === 'nothing').length;
  return [
    `${plural(total, 'gap')} ${total === 1 ? 'is' : 'are'} open.`,
    fillable > 0 && `${countText(fillable)} can be filled by a backfill of the gaps, below.`,
    lost > 0 && `${countText(lost)} cannot be filled any more; import the data from another source.`,
  ]
    .filter(Boolean)
    .join(' ');
}
