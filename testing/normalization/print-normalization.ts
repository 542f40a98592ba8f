import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderTable } from '../../service/program/documents/print-settings.ts'
import {
  normalizeIdentifier,
  parseSuppliedDigest,
} from '../../service/signals/identity/identifier-formats.ts'
import { normalizeCountry } from '../../service/signals/identity/normalize-country.ts'
import { hashIdentifier } from '../../service/signals/identity/normalize-user-data.ts'
import type { HashedKey } from '../../service/signals/identity/user-data-keys.ts'
import { HASHED_FIELD_RULES } from '../../service/signals/platforms/meta/normalize-identity.ts'
import { createOfflinePlatforms } from '../../service/signals/platforms/registry.ts'
import { normalizeMetaUserData, TIMES } from '../fixtures/meta-identity.ts'
import {
  CASES,
  type NormalizationCase,
  type Outcome,
  type Recording,
  UNSUPPORTED,
} from './cases.ts'
import { findReason } from './reasons.ts'
import { BUILDER_DIFFERENCES, BUILDER_TESTS, SECTIONS } from './sections.ts'
import recording from './vectors/implementations.json' with { type: 'json' }

/** The generated page. A test fails when it is stale. */
export const NORMALIZATION_PAGE_PATH = join(
  import.meta.dirname,
  '../../docs/reference/normalization.md',
)

/** The results of the other implementations. */
export const RECORDING = recording as unknown as Recording

/** `npm run normalization:print`: every vector with our result and those of the others. */
export function renderNormalizationPage(): string {
  const sections = SECTIONS.map(({ field, title, rule }) => {
    const rows = CASES.flatMap((one, index) => (one.field === field ? [renderRow(one, index)] : []))
    return `## ${title}\n\n${rule}\n\n${renderTable([COLUMNS, ...rows])}\n`
  })
  return `${renderHead()}\n${sections.join('\n')}\n${renderPlatforms()}\n${renderBuilderTests()}`
}

const { all: PLATFORMS, default: META } = createOfflinePlatforms()
const OTHER_PLATFORMS = PLATFORMS.filter(platform => platform !== META)

/** The values whose digest another platform does not share with Meta. */
function renderPlatforms(): string {
  const untaken = OTHER_PLATFORMS.map(({ label, normalizeIdentity }) => {
    const fields = SECTIONS.map(({ field }) => field).filter(field =>
      CASES.every(one => one.field !== field || digestOf(normalizeIdentity, one) === undefined),
    )
    return { label, fields }
  })
  const rows = CASES.flatMap(one => {
    const meta = digestOf(META.normalizeIdentity, one)
    const cells = OTHER_PLATFORMS.map(({ normalizeIdentity }, at) => {
      if (untaken[at]?.fields.includes(one.field)) return 'not taken'
      const digest = digestOf(normalizeIdentity, one)
      return digest === meta
        ? 'as Meta'
        : digest === undefined
          ? 'dropped'
          : formatOther(one, digest)
    })
    const isEqual = cells.every(cell => cell === 'as Meta' || cell === 'not taken')
    return isEqual ? [] : [[formatCode(one.field), formatValue(one), ...cells]]
  })
  const taken = untaken.map(({ label, fields }) => {
    const names = fields.map(formatCode).join(', ')
    return `- **${label}** takes all fields of this page${names && ` but ${names}`}.`
  })
  const columns = ['Field', 'Value', ...OTHER_PLATFORMS.map(({ label }) => label)]
  return `## Other platforms

Each platform has its own rules. These are the values of this page whose digest differs from Meta's,
computed by the code of the service. Every other value has Meta's digest there, or both drop it:

${taken.join('\n')}

${renderTable([columns, ...rows])}
`
}

type NormalizeIdentity = (typeof META)['normalizeIdentity']

function digestOf(normalize: NormalizeIdentity, one: NormalizationCase): string | undefined {
  const { field, input, country } = one
  const userData = { [field]: input, ...(country && { country }) }
  const { digests } = normalize({ ...TIMES, userData, clickIds: {}, eventSource: undefined })
  return digests[field]?.[0]
}

/** The text behind a digest, where it is Meta's with a + or a part of it. */
function formatOther(one: NormalizationCase, digest: string): string {
  const meta = normalizeCase(one)
  const texts = typeof meta === 'string' ? [`+${meta}`, meta.slice(0, 5)] : []
  const text = texts.find(candidate => hashIdentifier(candidate) === digest)
  return text === undefined ? 'another digest' : formatCode(text)
}

function renderBuilderTests(): string {
  const { texts, equal, equalBefore } = BUILDER_TESTS
  const rows = BUILDER_DIFFERENCES.map(([field, count, reason]) => [
    formatCode(field),
    String(count),
    reason,
  ])
  return `## Meta's own tests

The tests of Meta's Parameter Builder for Node.js (facebook/capi-param-builder, May 2026) have
${formatCount(texts)} distinct texts for these fields. Our result is the same for
${formatCount(equal)} of them; it was for ${formatCount(equalBefore)} before November 28, 2026.
None of the others is a value that the page explains and we do not read:

${renderTable([['Field', 'Differ', 'Ours, by the page'], ...rows])}

The digest of an empty value, which the library keeps, is dropped in every field.
`
}

const formatCount = (count: number) => count.toLocaleString('en')

/** The result of our rules for a case, computed by the code that accepts events. */
export function normalizeCase({ field, input, country }: NormalizationCase): Outcome {
  const { digests } = normalizeMetaUserData({ [field]: input, ...(country && { country }) })
  const [digest] = digests[field] ?? []
  if (digest === undefined) return null
  const supplied = parseSuppliedDigest(String(input))
  if (supplied !== null) return { kept: digest }
  const context = {
    ...TIMES,
    country: country ? normalizeCountry(normalizeIdentifier(country)) : null,
  }
  const rule = HASHED_FIELD_RULES[field as HashedKey]
  const known = field === 'country' ? null : context.country
  const text = rule.normalize(normalizeIdentifier(String(input)), { ...context, country: known })
  if (typeof text !== 'string' || hashIdentifier(text) !== digest) {
    throw new Error(`The rule of ${field} does not produce the hashed value.`)
  }
  return text
}

/** Whether the result of any implementation differs from ours. */
export function isDisputed(one: NormalizationCase, index: number): boolean {
  const own = normalizeCase(one)
  return listOutcomes(index).some(outcome => outcome !== UNSUPPORTED && !isSame(outcome, own))
}

function listOutcomes(index: number): Outcome[] {
  return RECORDING.implementations.map(({ id }) => RECORDING.results[index]?.outcomes[id] ?? null)
}

function isSame(one: Outcome, other: Outcome): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

const COLUMNS = ['Value', 'Signalbox', 'Others, where they differ', 'Why ours is right']

function renderRow(one: NormalizationCase, index: number): string[] {
  const own = normalizeCase(one)
  const others = formatDifferences(index, own)
  return [formatValue(one), formatOutcome(own), others, others && (findReason(one) ?? '')]
}

function formatValue({ input, country }: NormalizationCase): string {
  const beside = country ? ` with country ${formatCode(country)}` : ''
  return `${input === '' ? 'empty' : formatInput(input)}${beside}`
}

/** Each other result, with the implementations that have it. */
function formatDifferences(index: number, own: Outcome): string {
  const outcomes = listOutcomes(index)
  const differing = RECORDING.implementations.flatMap(({ short }, at) => {
    const outcome = outcomes[at] as Outcome
    return outcome === UNSUPPORTED || isSame(outcome, own) ? [] : [{ short, outcome }]
  })
  const byOutcome = Map.groupBy(differing, ({ outcome }) => formatOutcome(outcome))
  return [...byOutcome]
    .map(([outcome, found]) => `${outcome}: ${found.map(({ short }) => short).join(', ')}`)
    .join('; ')
}

function formatInput(input: string | number): string {
  if (typeof input === 'number') return `${formatCode(String(input))} as a number`
  const isDecomposed = input !== input.normalize('NFC')
  return `${formatCode(shorten(input))}${isDecomposed ? ' (decomposed)' : ''}`
}

function formatOutcome(outcome: Outcome): string {
  if (outcome === null) return 'dropped'
  if (outcome === UNSUPPORTED) return 'no such key'
  if (typeof outcome === 'string')
    return outcome === '' ? 'digest of nothing' : formatCode(shorten(outcome))
  return 'kept' in outcome ? 'not hashed' : 'error'
}

/** Shows invisible characters, and half a surrogate pair as the replacement character. */
function formatCode(text: string): string {
  const visible = text.replaceAll('\u00a0', '⍽').replace(INVISIBLE, '␣')
  return `\`${visible.toWellFormed()}\``
}

const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu

const DIGEST = /^[0-9a-f]{32,}$/

function shorten(text: string): string {
  return DIGEST.test(text) ? `${text.slice(0, 8)}…` : text
}

function renderHead(): string {
  const sources = RECORDING.implementations.map(
    ({ name, short, version, source }) => `- **${short}**: ${name}, ${version} (${source}).`,
  )
  const disputed = CASES.filter((one, index) => isDisputed(one, index)).length
  const count = RECORDING.implementations.length
  return `# Normalization

<!-- Generated by \`npm run normalization:print\` from testing/normalization. -->

How a value of \`user_data\` is normalized before it is hashed with SHA-256: by our rules, which
follow Meta's page "Customer Information Parameters", and by ${count} other implementations:
those of npm, PyPI and Maven Central, and one that was read. Of ${CASES.length} values,
${disputed} get another result from at least one of them. Our column is computed by the code of the
service. The others were recorded on ${RECORDING.recordedOn} by \`npm run normalization:record\`. A
test fails when a difference appears that has no reason here:

${sources.join('\n')}

_dropped_: the field is omitted. _error_: the library throws, and its caller must handle the error.
_not hashed_: sent unchanged, because it is a digest or an ID. An implementation that does not have
the key is not listed. ⍽ is a non-breaking space, and ␣ an invisible character.
`
}

if (import.meta.main) writeFileSync(NORMALIZATION_PAGE_PATH, renderNormalizationPage())
