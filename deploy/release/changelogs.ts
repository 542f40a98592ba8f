import { REPOSITORY } from './distributions.ts'

export type ChangelogOf = 'server' | 'cli' | 'typescript' | 'python' | 'go'

const TITLES: Record<ChangelogOf, string> = {
  server: 'the server',
  cli: 'the command line',
  typescript: 'the TypeScript client',
  python: 'the Python client',
  go: 'the Go client',
}
/** An entry belongs to each package that it names. The server's has all entries. */
const NAMES: Record<Exclude<ChangelogOf, 'server'>, RegExp> = {
  cli: /\bcommand line\b|clients\/cli|`signalbox [a-z]/,
  typescript: /\bSDKs?\b|TypeScript|sdks\/typescript|@signalbox\/sdk/,
  python: /\bSDKs\b|Python|sdks\/python|signalbox-events`/,
  go: /\bSDKs\b|\bGo\b|sdks\/go/,
}
const HEADING = /^## \[Unreleased\].*$/m

/** Gives the entries that wait for a release its version and date, below a new empty heading. */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  if (!HEADING.test(changelog)) throw new Error('CHANGELOG.md has no heading [Unreleased].')
  return changelog.replace(HEADING, `## [Unreleased]\n\n## [${version}] - ${date}`)
}

/** The changelog of one package: what its newest release changed for those who install it. */
export function packageChangelog(changelog: string, name: ChangelogOf): string {
  const [newest = ''] = changelog.split(/^(?=## )/m).filter(part => /^## \[\d/.test(part))
  const [heading = '', ...rest] = newest.split('\n')
  const sections = rest
    .join('\n')
    .split(/^(?=### )/m)
    .map(section => keepEntries(section, name))
  const kept = sections.filter(section => section !== '')
  const text = kept.length > 0 ? kept.join('\n') : 'Released with the other packages, unchanged.\n'
  const all = `${REPOSITORY}/blob/main/CHANGELOG.md`
  const about = `# Changes of ${TITLES[name]}\n\nThe whole list is the [changelog](${all}).`
  return `${about}\n\n${heading}\n\n${linkAbsolutely(text)}`
}

/** The heading of a section with the entries that name the package; empty without any. */
function keepEntries(section: string, name: ChangelogOf): string {
  const [heading = '', ...rest] = section.split('\n')
  const entries = rest
    .join('\n')
    .trim()
    .split(/^(?=- )/m)
    .map(entry => `${entry.trimEnd()}\n`)
  const kept = entries.filter(entry => name === 'server' || NAMES[name].test(entry))
  return !heading.startsWith('### ') || kept.length === 0 ? '' : `${heading}\n\n${kept.join('')}`
}

/** A package has not the files of the repository. */
function linkAbsolutely(text: string): string {
  return text.replace(/\]\((?!https?:)([^)]+)\)/g, `](${REPOSITORY}/blob/main/$1)`)
}
