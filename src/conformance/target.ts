/** The server to check, and the allowed kinds of requests. */
export interface Target {
  /** The URL before `/api/v1/...`; it may have a path. */
  url: string;
  workgroup: string;
  /** The table to read if the check may not write. */
  table: string | undefined;
  token: string;
  restrictedToken: string | undefined;
  foreignWorkgroup: string | undefined;
  write: boolean;
  slow: boolean;
  /** The path of socket.io; undefined to skip the rules on sockets. */
  socketPath: string | undefined;
}

/**
 * The text that is shown instead of a token. Tokens that the suite makes up are shown, because they are not
 * secret.
 */
export function tokenShownAs({ token, restrictedToken }: Target, given: string): string {
  if (given === token) return '$WATTLINE_TOKEN';
  return given === restrictedToken ? '$WATTLINE_RESTRICTED_TOKEN' : given;
}
