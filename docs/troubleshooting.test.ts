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

/** The code, with strings that span several lines joined. */
const joined = code.replace(/['`] \+\s*['`]/g, '')

const page = read('docs/operations/troubleshooting.md')
const sentences = [...page.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, sentence = '']) => sentence)

it('every sentence of the page is in the code', () => {
  assert.ok(sentences.length > 40)
  const missing = sentences.filter(sentence => !isInCode(sentence))
  assert.deepEqual(missing, [])
})

it('every error that can prevent the start is on the page', () => {
  const errors =
    'Start|Settings|Schema|EmbeddedPostgres|CredentialsFile|ContractKey|CredentialKey|ErasureKey|PlatformToken'
  const thrown = new RegExp(`new (?:${errors})Error\\(\\s*(['\`])(.*?)\\1`, 'g')
  const fragments = [...code.matchAll(thrown)].map(([, , text = '']) => longestFixedPart(text))
  assert.ok(fragments.length > 20)
  const missing = fragments.filter(fragment => !page.includes(fragment))
  assert.deepEqual(missing, [])
})

/** Whether each fixed part between two `…` is in the code. */
function isInCode(sentence: string): boolean {
  const parts = sentence.split('…').map(text => text.replace(/ \([^()]*$/, '').trim())
  return parts.every(
    text => text.length < 12 || joined.includes(text) || isInCodeAroundNumbers(text),
  )
}

/** A constant in the middle of a sentence, such as `200 MB`, is interpolated in the code. */
function isInCodeAroundNumbers(text: string): boolean {
  return /\d/.test(text) && text.split(/\d+/).every(piece => joined.includes(piece.trim()))
}

/** The longest part of a template without interpolations. */
function longestFixedPart(text: string): string {
  const parts = text.split(/\$\{.*?\}/).map(piece => piece.trim())
  return parts.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), '')
}
