import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const code = globSync('{service,embedded-postgres}/**/*.ts', {
  cwd: root,
  exclude: path => path.endsWith('.test.ts'),
})
  .map(read)
  .join('\n')

/** The code with sentences that are written over several lines put together again. */
const joined = code.replace(/['`] \+\s*['`]/g, '')

const [, part = ''] = read('docs/operations/running.md').split('## When it does not start')
const sentences = [...part.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, sentence = '']) => sentence)

it('every sentence of the page is one that the program can say', () => {
  assert.ok(sentences.length > 40)
  const unsaid = sentences.filter(sentence => !isSaid(sentence))
  assert.deepEqual(unsaid, [])
})

it('every sentence that can end the start is on the page', () => {
  const errors =
    'Start|Settings|Schema|EmbeddedPostgres|CredentialsFile|ContractKey|CredentialKey|ErasureKey|PlatformToken'
  const thrown = new RegExp(`new (?:${errors})Error\\(\\s*(['\`])(.*?)\\1`, 'g')
  const fragments = [...code.matchAll(thrown)].map(([, , text = '']) => longestFixedPart(text))
  assert.ok(fragments.length > 20)
  const missing = fragments.filter(fragment => !part.includes(fragment))
  assert.deepEqual(missing, [])
})

/** Each fixed part between two `…` stands somewhere in the code. */
function isSaid(sentence: string): boolean {
  const parts = sentence.split('…').map(text => text.replace(/ \([^()]*$/, '').trim())
  return parts.every(text => text.length < 12 || joined.includes(text) || isSaidAroundNumbers(text))
}

/** `200 MB` is a constant in the middle of the sentence. */
function isSaidAroundNumbers(text: string): boolean {
  return /\d/.test(text) && text.split(/\d+/).every(piece => joined.includes(piece.trim()))
}

/** Of a template or a string, without what is filled in. */
function longestFixedPart(text: string): string {
  const parts = text.split(/\$\{.*?\}/).map(piece => piece.trim())
  return parts.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), '')
}
