/** The server to look at, and what may be done to it. */
export interface Target {
  /** Where `/api/v1/...` begins; may have a path of its own. */
  url: string;
  workgroup: string;
  /** The table to read, where none of its own is written. */
  table: string | undefined;
  token: string;
  restrictedToken: string | undefined;
  foreignWorkgroup: string | undefined;
  write: boolean;
  slow: boolean;
  /** Where socket.io is; undefined: that half of the contract is left out. */
  socketPath: string | undefined;
}

/** What stands for a token wherever it would be shown: those that the suite makes up are no secret. */
export function tokenShownAs({ token, restrictedToken }: Target, given: string): string {
  if (given === token) return '$WATTLINE_TOKEN';
  return given === restrictedToken ? '$WATTLINE_RESTRICTED_TOKEN' : given;
}
