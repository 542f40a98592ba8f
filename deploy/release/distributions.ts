/** Where the source is. The name of the owner is free, unlike `signalbox`, which is a stranger's. */
export const REPOSITORY = 'https://github.com/signalbox-events/signalbox'

/**
 * What each package is called where others install it. `npx signalbox-server` and `npx signalbox`
 * ask the registry for a package of that name when none is installed, so these are our packages.
 */
export const DISTRIBUTIONS = {
  server: 'signalbox-server',
  cli: 'signalbox',
  typescript: '@signalbox/sdk',
  /** `signalbox` on PyPI is an unrelated project. What is imported is `signalbox` all the same. */
  python: 'signalbox-events',
  /** Ends with its folder, so that a tag `clients/sdks/go/v1.2.3` is a version of it. */
  go: 'github.com/signalbox-events/signalbox/clients/sdks/go',
} as const

/** What npm's provenance compares with the repository that built the package. */
export function describeSource(directory: string) {
  return {
    homepage: `${REPOSITORY}/tree/main/${directory}#readme`,
    bugs: `${REPOSITORY}/issues`,
    repository: { type: 'git', url: `git+${REPOSITORY}.git`, directory },
  }
}
