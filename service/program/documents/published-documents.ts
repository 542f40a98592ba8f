import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOpenapiDocument } from '@signalbox/contract/openapi-document.ts'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { formatDocument } from '@signalbox/contract/print-openapi.ts'
import { type SigningKey, signOpenapi } from '@signalbox/contract/signing-key.ts'
import { DAY_MILLISECONDS } from '../../runtime/util/time.ts'

/**
 * Builds the signed contract of this installation, with its own address in `servers`. Built once
 * per origin, which is only known when the port is.
 */
export function createSignedContract(key: SigningKey): (origin: string) => Promise<TextWithEtag> {
  let cached: { origin: string; contract: Promise<TextWithEtag> } | null = null
  return origin => {
    if (cached?.origin !== origin) cached = { origin, contract: signContract(origin, key) }
    return cached.contract
  }
}

async function signContract(origin: string, key: SigningKey): Promise<TextWithEtag> {
  const document = await signOpenapi(createOpenapiDocument(`${origin}${BASE_PATH}`), key)
  return withEtag(formatDocument(document))
}

/** Public, cacheable and readable by any page. */
export const PUBLIC_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Request-Id',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** RFC 9116 recommends less than a year. */
const VALID_DAYS = 180

interface SecurityTxtInput {
  contact: string
  origin: string
  at: Date
}

/**
 * `security.txt` (RFC 9116): where to report a vulnerability. It expires a fixed time after the day
 * on which it is read, because the operator keeps the setting current.
 */
export function formatSecurityTxt({ contact, origin, at }: SecurityTxtInput): string {
  const day = Math.floor(at.getTime() / DAY_MILLISECONDS)
  const expires = new Date((day + VALID_DAYS) * DAY_MILLISECONDS)
  return [
    `Contact: ${contact}`,
    `Expires: ${expires.toISOString()}`,
    `Canonical: ${origin}/.well-known/security.txt`,
    '',
  ].join('\n')
}

export interface TextWithEtag {
  text: string
  /** A strong entity tag (RFC 9110, section 8.8.3). */
  etag: string
}

export function withEtag(text: string): TextWithEtag {
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` }
}

/** An entity tag, weak or strong; RFC 9110, section 8.8.3. */
const ENTITY_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/**
 * True when `If-None-Match` (RFC 9110, section 13.1.2) names these bytes: `*`, or a list, in which
 * weak tags count too. Malformed entries match nothing.
 */
export function isEtagMatch(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return [...ifNoneMatch.matchAll(ENTITY_TAG)].some(([, tag]) => tag === etag)
}

/** What `docs/site/build.ts` writes: one file for all pages, so that they are never half new. */
export const DOCS_SITE_FILE = join(import.meta.dirname, '../../../docs/site/dist/site.json')

export interface DocsPage {
  /** The address below /docs; empty for /docs itself. */
  name: string
  title: string
  description: string
  /** The heading in the navigation; null for /docs itself. */
  group: string | null
  html: string
  markdown: string
}

/** A part of a page that a search can find. */
export interface DocsSection {
  path: string
  title: string
  heading: string
  text: string
}

/** Texts contain `{site_origin}` and `{base_url}` for the addresses of the installation. */
export interface DocsSite {
  /** Of everything the build depends on. */
  digest: string
  /** The path changes with the content. */
  stylesheet: { path: string; text: string }
  /** In the order of the navigation. */
  pages: DocsPage[]
  sections: DocsSection[]
  /** A document with `{title}` and `{body}`, for answers that are not built. */
  frame: string
}

let site: DocsSite | null = null

/** Read when it is first needed, so that a service that shows no documentation needs no build. */
export function readDocsSite(): DocsSite | null {
  try {
    site ??= JSON.parse(readFileSync(DOCS_SITE_FILE, 'utf8')) as DocsSite
    return site
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return null
  }
}

/** Inserts the addresses of this installation, never the Host header of a request. */
export function fillAddresses(text: string, origin: string): string {
  return text.replaceAll('{site_origin}', origin).replaceAll('{base_url}', `${origin}${BASE_PATH}`)
}

/** The list of the pages for /llms.txt. */
export function listPagesForAgents({ pages }: DocsSite): string {
  const lines = pages.flatMap(({ name, title, description, group }, index) => {
    const path = name === '' ? '/docs.md' : `/docs/${name}.md`
    const line = `- [${title}]({site_origin}${path}): ${description}`
    const isFirst = group !== null && group !== pages[index - 1]?.group
    return isFirst ? ['', `### ${group}`, '', line] : [line]
  })
  return ['', '## Documentation', '', ...lines, ''].join('\n')
}

/** Every page as Markdown in one text, for /llms-full.txt. */
export function joinPagesForAgents({ pages }: DocsSite): string {
  return pages.map(({ markdown }) => markdown.trim()).join('\n\n---\n\n')
}
