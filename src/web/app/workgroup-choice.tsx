import { linkTo, type PageName } from './address.ts';
import type { TokenSession } from './session.ts';

/** The name of the workgroup, or a choice if the token may read several. */
export function WorkgroupChoice(props: { session: TokenSession; chosen: string; page: PageName }) {
  const { session, chosen, page } = props;
  if (session.workgroups.length === 1) return <span class="workgroup">{chosen}</span>;
  return (
    <label class="workgroup">
      <span class="visually-hidden">Workgroup</span>
      <select
        value={chosen}
        onChange={(event) => {
          location.hash = linkTo(event.currentTarget.value, page === 'why' ? 'overview' : page);
        }}
      >
        {session.workgroups.map(({ id }) => (
          <option key={id} value={id} selected={id === chosen}>
            {id}
          </option>
        ))}
      </select>
    </label>
  );
}
