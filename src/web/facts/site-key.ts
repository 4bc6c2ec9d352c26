/** The key with which the page Energy chooses the balance of a site. */
export const siteKey = (name: string) => `site:${name}`;

export const isSiteKey = (key: string) => key.startsWith(siteKey(''));
