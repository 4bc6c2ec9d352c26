import { createContext } from 'preact';
import type { OpenWorkgroup } from '../app/session.ts';
import type { WorkgroupAnswer } from './answers.ts';

/** An answer of the service, with its entity tag. */
interface KeptAnswer {
  answer: unknown;
  etag?: string | undefined;
}

/** What every part of a page needs to know. */
export interface PageWork {
  token: string;
  subject: string;
  workgroup: OpenWorkgroup;
  /** The path of the endpoints of the workgroup, with a slash at its end. */
  root: string;
  /** IANA time zone of its days. */
  zone: string;
  meters: WorkgroupAnswer['meters'];
  sites: WorkgroupAnswer['sites'];
  /** The current day there. */
  today: string;
  /** The answers so far, by path, so that "back" shows a page at once. The oldest ones are removed. */
  keptAnswers: Map<string, KeptAnswer>;
  onSignedOut(reason: string): void;
}

export const PageWorkContext = createContext<PageWork>(undefined as unknown as PageWork);
