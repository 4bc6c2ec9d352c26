import packageFile from '../package.json' with { type: 'json' };

/** The version of this Wattline. */
export const programVersion: string = packageFile.version;
