import { createContext } from 'preact';
import type { OpenWorkgroup } from '../app/session.ts';
import type { WorkgroupAnswer } from './answers.ts';

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
  onSignedOut(reason: string): void;
}

export const PageWorkContext = createContext<PageWork>(undefined as unknown as PageWork);
