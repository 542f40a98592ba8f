import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

/** A word that once had a second meaning here, or that nobody searches, and what replaced it. */
const RETIRED: readonly { word: RegExp; use: string }[] = [
  { word: /\bAdPlatform\b/, use: 'CampaignApi' },
  { word: /\b(CurrentPerson|TestPerson|PeopleContext|PersonStatus)\b/, use: 'user' },
  {
    word: /\b(findPerson(ByEmail|ById)|setPersonStatus|personActor|createTestPerson)\b/,
    use: 'user',
  },
  { word: /\b(authenticateBrowser|createBrowserAuthenticator)\b/, use: 'publishable key' },
  { word: /\b\w*[bB]rowserRoutes\b|\bBROWSER_PATH\b|contract\/browser\//, use: 'session' },
  { word: /\bbehaviour|\bcolour|\bfavourite|\bcentre\b/i, use: 'US spelling' },
  { word: /\be-mails?\b/i, use: 'email' },
  { word: /\blook-ups?\b/i, use: 'lookup' },
  { word: /\bdue lanes?\b|\blanes?\b/i, use: 'destination queue' },
  { word: /\bunburnt\b/i, use: 'not counted as an attempt' },
  {
    word: /\b(doorframe|heed|kept since|taken up|rehearse|misjudged|presumption)\b/i,
    use: 'house words',
  },
  { word: /\b(whoever|somebody|what became of)\b/i, use: 'plain English' },
]

/**
 * Records of earlier runs and decisions keep the words of their time, and the vocabulary of consent
 * and its tests have every spelling that is read.
 */
const HISTORY =
  /^(CHANGELOG\.md|docs\/decisions\/|docs\/retired-words\.test\.ts|service\/signals\/consent\/(consent-vocabulary|refusals\.property\.test)\.ts|testing\/benchmarks\/results\.md)|\/vectors\/|node_modules|\/dist\/|\.generated\./

const root = join(import.meta.dirname, '..')
const pages = globSync('**/*.{ts,tsx,md,css,py,go}', {
  cwd: root,
  exclude: path => /node_modules|^\./.test(path),
})
  .filter(path => !HISTORY.test(path))
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))

it('reads all pages and sources', () => {
  assert.ok(pages.length > 1_000)
})

for (const { word, use } of RETIRED) {
  it(`says ${use} and not ${word.source}`, () => {
    const found = pages.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => (word.test(line) ? [`${path}:${index + 1}`] : [])),
    )
    assert.deepEqual(found, [])
  })
}

it('ARCHITECTURE.md explains at most 25 words', () => {
  const [, glossary = ''] = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').split('## Glossary')
  const words = glossary.match(/^\| (?!Word|---)/gm) ?? []
  assert.ok(words.length > 15 && words.length <= 25, String(words.length))
})
